"""What is known about the files of the UCI data sets."""

from dataclasses import dataclass

from experiments.datasets import columns, files
from experiments.datasets.frames import Layout

ARCHIVE_URL = "https://archive.ics.uci.edu/static/public"

_ORIGINAL = "the archive's file"


@dataclass(frozen=True, slots=True)
class Spec:
    """Where a data set comes from, which columns are used, and what is done to them.

    Columns with gaps are left out; decimal points are lost where that was done before.
    """

    title: str
    number: int
    slug: str
    target: str
    n_features: int
    layouts: tuple[Layout, ...]
    ignored: tuple[str, ...] = ()
    prefix: str = ""
    has_gaps: bool = False
    loses_points: bool = False
    other_archives: tuple[str, ...] = ()

    @property
    def archive(self) -> str:
        """Name of the archive's zip file."""
        return f"{self.slug}.zip"

    @property
    def url(self) -> str:
        """Where the archive offers it."""
        return f"{ARCHIVE_URL}/{self.number}/{self.archive}"

    @property
    def archives(self) -> frozenset[str]:
        """Bare names that the zip file has or once had."""
        return frozenset(map(files.bare_name, (self.slug, *self.other_archives)))

    @property
    def accepted(self) -> str:
        """The files that the data set is read from, for messages."""
        names = [layout.file for layout in self.layouts]
        return ", ".join(f"`{name}`" for name in (*names, self.archive))


_CRIME_FILES = (
    Layout("communities.data", 1_994, 128, _ORIGINAL, columns.CRIME),
    Layout("communities_crime.csv", 1_994, 128, "a copy with a header"),
)

SPECS: dict[str, Spec] = {
    "superconductivity": Spec(
        "Superconductivity",
        464,
        "superconductivty+data",
        "critical_temp",
        81,
        (
            Layout("train.csv", 21_263, 82, _ORIGINAL),
            Layout(
                "superconductivity.parquet",
                21_263,
                82,
                "features recomputed from the composition of each material",
            ),
        ),
        other_archives=("superconduct",),
    ),
    "online-news": Spec(
        "Online News Popularity",
        332,
        "online+news+popularity",
        "shares",
        58,
        (
            Layout("OnlineNewsPopularity.csv", 39_644, 61, _ORIGINAL),
            Layout(
                "online_news_popularity.parquet",
                39_644,
                60,
                "a copy whose last 644 rows are rounded to about 10 digits",
            ),
        ),
        ignored=("url", "timedelta"),
        other_archives=("OnlineNewsPopularity",),
    ),
    "crime": Spec(
        "Communities and Crime",
        183,
        "communities+and+crime",
        "ViolentCrimesPerPop",
        99,
        _CRIME_FILES,
        ignored=("state", "county", "community", "communityname", "fold"),
        has_gaps=True,
    ),
    "crime-as-published": Spec(
        "Communities and Crime with lost decimal points",
        183,
        "communities+and+crime",
        "ViolentCrimesPerPop",
        100,
        _CRIME_FILES,
        ignored=("county", "community", "communityname", "HispPerCap"),
        has_gaps=True,
        loses_points=True,
    ),
    "ujindoor": Spec(
        "UJIIndoorLoc",
        310,
        "ujiindoorloc",
        "LONGITUDE",
        465,
        (
            Layout("trainingData.csv", 19_937, 529, _ORIGINAL),
            Layout("ujiindoorloc_train.parquet", 19_937, 529, "a copy"),
        ),
        prefix="WAP",
        other_archives=("UJIndoorLoc", "UJndoorLoc"),
    ),
    "facebook": Spec(
        "Facebook Comment Volume",
        363,
        "facebook+comment+volume+dataset",
        "target",
        52,
        (
            Layout(
                "Features_Variant_5.csv",
                199_030,
                54,
                "training variant 5, the paper's",
                columns.FACEBOOK,
            ),
            Layout(
                "Features_Variant_1.csv",
                40_949,
                54,
                "training variant 1, where the paper has variant 5",
                columns.FACEBOOK,
            ),
            Layout(
                "facebook_comments_variant1.parquet",
                40_949,
                54,
                "training variant 1 with recomputed statistics of pages, where the "
                "paper has variant 5",
            ),
        ),
        other_archives=("Dataset",),
    ),
}
