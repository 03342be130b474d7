"""One page about a sparse regression, to be kept, sent and printed."""

from cardqp.report.contents import (
    Alternative,
    CVCurve,
    Feature,
    Predictions,
    ReportData,
)
from cardqp.report.regression_page import regression_report

__all__ = [
    "Alternative",
    "CVCurve",
    "Feature",
    "Predictions",
    "ReportData",
    "regression_report",
]
