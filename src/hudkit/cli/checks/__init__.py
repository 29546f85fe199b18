"""Is everything in place? Checks of the installation, what can be mended safely, and a text for a bug report."""

from hudkit.cli.checks.check import Check, Verdict, examine, worst
from hudkit.cli.checks.mend import mend
from hudkit.cli.checks.report import report
from hudkit.cli.checks.surroundings import Surroundings, surroundings
from hudkit.cli.checks.table import CHECKS

__all__ = ["CHECKS", "Check", "Surroundings", "Verdict", "examine", "mend", "report", "surroundings", "worst"]
