"""Small files in the layouts of the archive and of the prepared copies."""

import io
import zipfile

import numpy as np
import pandas as pd

from experiments.datasets.columns import CRIME, FACEBOOK

ROWS = 12
FILES = {
    "superconductivity": "train.csv",
    "online-news": "OnlineNewsPopularity.csv",
    "crime": "communities.data",
    "ujindoor": "trainingData.csv",
    "facebook": "Features_Variant_5.csv",
}
PREPARED = {
    "superconductivity": "superconductivity.parquet",
    "online-news": "online_news_popularity.parquet",
    "crime": "communities_crime.csv.gz",
    "ujindoor": "ujiindoorloc_train.parquet",
    "facebook": "facebook_comments_variant1.parquet",
}
SLUGS = {
    "superconductivity": "464/superconductivty+data.zip",
    "online-news": "332/online+news+popularity.zip",
    "crime": "183/communities+and+crime.zip",
    "ujindoor": "310/ujiindoorloc.zip",
    "facebook": "363/facebook+comment+volume+dataset.zip",
}
FEATURES = {
    "superconductivity": 81,
    "online-news": 58,
    "crime": 99,
    "ujindoor": 465,
    "facebook": 52,
}
TARGETS = {
    "superconductivity": "critical_temp",
    "online-news": "shares",
    "crime": "ViolentCrimesPerPop",
    "ujindoor": "LONGITUDE",
    "facebook": "target",
}
GAPS = tuple(CRIME[i] for i in (30, *range(101, 118), *range(121, 125), 126))
IDENTIFIERS = ("state", "county", "community", "communityname", "fold")
SILENT = tuple(f"WAP{i:03d}" for i in range(1, 56))


def frame(name):
    """What the file of a data set says, with names of columns and gaps."""
    rng = np.random.default_rng(7)
    names = {
        "superconductivity": (*(f"f{i}" for i in range(81)), "critical_temp"),
        "online-news": (
            *("url", "timedelta"),
            *(f"f{i}" for i in range(58)),
            "shares",
        ),
        "crime": CRIME,
        "ujindoor": (
            *(f"WAP{i:03d}" for i in range(1, 521)),
            *("LONGITUDE", "LATITUDE", "FLOOR", "BUILDINGID", "SPACEID"),
            *("RELATIVEPOSITION", "USERID", "PHONEID", "TIMESTAMP"),
        ),
        "facebook": FACEBOOK,
    }[name]
    table = pd.DataFrame(rng.standard_normal((ROWS, len(names))), columns=list(names))
    if name == "online-news":
        table["url"] = [f"http://news.example/{i}/" for i in range(ROWS)]
    if name == "crime":
        table["communityname"] = [f"Place{i}city" for i in range(ROWS)]
        table.loc[1:, "county"] = np.nan
        for place, column in enumerate(GAPS):
            table.loc[place % ROWS, column] = np.nan
    if name == "ujindoor":
        table.loc[:, list(SILENT)] = 100.0
    if name == "facebook":
        table["post_promoted"] = 0.0
    return table


def original(name, table=None):
    """The bytes of the archive's file."""
    table = frame(name) if table is None else table
    if name == "online-news":
        lines = [", ".join(table.columns)]
        lines += [", ".join(map(str, row)) for row in table.itertuples(index=False)]
        return ("\n".join(lines) + "\n").encode()
    header = name not in ("crime", "facebook")
    return table.to_csv(index=False, header=header, na_rep="?").encode()


def prepared(name):
    """The bytes of the prepared copy, without compression."""
    table = frame(name)
    if name == "crime":
        return table.to_csv(index=False).encode()
    buffer = io.BytesIO()
    table.drop(columns="url", errors="ignore").to_parquet(buffer)
    return buffer.getvalue()


def packed(contents):
    """A zip file from names and contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in contents.items():
            # Members made from names alone have a fixed date: the same bytes each time.
            member = zipfile.ZipInfo(name)
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def expected(name):
    """Names and values of the features that should be used."""
    table = frame(name)
    unused = {
        "online-news": ("url", "timedelta"),
        "crime": (*IDENTIFIERS, *GAPS),
        "ujindoor": (*SILENT, *table.columns[521:]),
        "facebook": ("post_promoted",),
    }.get(name, ())
    return table.drop(columns=[TARGETS[name], *unused])
