"""Pages about a regression or its best subsets, to be kept, sent and printed."""

from cardqp.report.contents import (
    Alternative,
    Correlations,
    CVCurve,
    Feature,
    Predictions,
    ReportData,
    Rival,
    SubsetsData,
)
from cardqp.report.regression_page import regression_report
from cardqp.report.subsets_page import subsets_report

__all__ = [
    "Alternative",
    "CVCurve",
    "Correlations",
    "Feature",
    "Predictions",
    "ReportData",
    "Rival",
    "SubsetsData",
    "regression_report",
    "subsets_report",
]
