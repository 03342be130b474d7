"""Names of the columns of files without a header."""

_CRIME = """
    state county community communityname fold population householdsize racepctblack
    racePctWhite racePctAsian racePctHisp agePct12t21 agePct12t29 agePct16t24
    agePct65up numbUrban pctUrban medIncome pctWWage pctWFarmSelf pctWInvInc
    pctWSocSec pctWPubAsst pctWRetire medFamInc perCapInc whitePerCap blackPerCap
    indianPerCap AsianPerCap OtherPerCap HispPerCap NumUnderPov PctPopUnderPov
    PctLess9thGrade PctNotHSGrad PctBSorMore PctUnemployed PctEmploy PctEmplManu
    PctEmplProfServ PctOccupManu PctOccupMgmtProf MalePctDivorce MalePctNevMarr
    FemalePctDiv TotalPctDiv PersPerFam PctFam2Par PctKids2Par PctYoungKids2Par
    PctTeen2Par PctWorkMomYoungKids PctWorkMom NumIlleg PctIlleg NumImmig
    PctImmigRecent PctImmigRec5 PctImmigRec8 PctImmigRec10 PctRecentImmig
    PctRecImmig5 PctRecImmig8 PctRecImmig10 PctSpeakEnglOnly PctNotSpeakEnglWell
    PctLargHouseFam PctLargHouseOccup PersPerOccupHous PersPerOwnOccHous
    PersPerRentOccHous PctPersOwnOccup PctPersDenseHous PctHousLess3BR MedNumBR
    HousVacant PctHousOccup PctHousOwnOcc PctVacantBoarded PctVacMore6Mos
    MedYrHousBuilt PctHousNoPhone PctWOFullPlumb OwnOccLowQuart OwnOccMedVal
    OwnOccHiQuart RentLowQ RentMedian RentHighQ MedRent MedRentPctHousInc
    MedOwnCostPctInc MedOwnCostPctIncNoMtg NumInShelters NumStreet PctForeignBorn
    PctBornSameState PctSameHouse85 PctSameCity85 PctSameState85 LemasSwornFT
    LemasSwFTPerPop LemasSwFTFieldOps LemasSwFTFieldPerPop LemasTotalReq
    LemasTotReqPerPop PolicReqPerOffic PolicPerPop RacialMatchCommPol PctPolicWhite
    PctPolicBlack PctPolicHisp PctPolicAsian PctPolicMinor OfficAssgnDrugUnits
    NumKindsDrugsSeiz PolicAveOTWorked LandArea PopDens PctUsePubTrans PolicCars
    PolicOperBudg LemasPctPolicOnPatr LemasGangUnitDeploy LemasPctOfficDrugUn
    PolicBudgPerPop ViolentCrimesPerPop
"""

CRIME: tuple[str, ...] = tuple(_CRIME.split())
"""The 128 columns of ``communities.data``, as ``communities.names`` calls them."""

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_COUNTS = ("CC1", "CC2", "CC3", "CC4", "CC5")

FACEBOOK: tuple[str, ...] = (
    *("page_likes", "page_checkins", "page_talking_about", "page_category"),
    *(f"{c}_{s}" for c in _COUNTS for s in ("min", "max", "mean", "median", "std")),
    *_COUNTS,
    *("base_time", "post_length", "post_shares", "post_promoted", "H_local"),
    *(f"post_{day}" for day in _DAYS),
    *(f"base_{day}" for day in _DAYS),
    "target",
)
"""The 54 columns of ``Features_Variant_*.csv``; the archive numbers them only."""
