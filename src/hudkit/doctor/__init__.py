"""Is everything in place? Checks of the installation, what can be mended safely, and a text for a bug report."""

from hudkit.doctor.check import Check, Verdict, examine, worst
from hudkit.doctor.mend import mend
from hudkit.doctor.report import report
from hudkit.doctor.surroundings import Surroundings, surroundings
from hudkit.doctor.table import CHECKS

__all__ = ["CHECKS", "Check", "Surroundings", "Verdict", "examine", "mend", "report", "surroundings", "worst"]
