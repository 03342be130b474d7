"""Pages about a regression, its best subsets, or a portfolio, to be kept and sent."""

from cardqp.report.contents import (
    Alternative,
    Correlations,
    CVCurve,
    Feature,
    PortfolioData,
    Predictions,
    ReportData,
    Rival,
    SubsetsData,
)
from cardqp.report.portfolio_page import portfolio_report
from cardqp.report.regression_page import regression_report
from cardqp.report.subsets_page import subsets_report

__all__ = [
    "Alternative",
    "CVCurve",
    "Correlations",
    "Feature",
    "PortfolioData",
    "Predictions",
    "ReportData",
    "Rival",
    "SubsetsData",
    "portfolio_report",
    "regression_report",
    "subsets_report",
]
