"""Is everything in place? Checks of the installation, what can be fixed safely, and a text for a bug report.

A check is a function from the environment to a diagnosis, and a row in its module's table.
"""

from hudkit.cli.checks.check import Check, CheckRow, Verdict, examine, worst
from hudkit.cli.checks.claude_code_checks import CLAUDE_CODE_CHECKS
from hudkit.cli.checks.codex_checks import CODEX_CHECKS
from hudkit.cli.checks.conflicting_plugins import CONFLICT_CHECKS
from hudkit.cli.checks.environment import CheckEnvironment, read_environment
from hudkit.cli.checks.fixes import apply_fixes
from hudkit.cli.checks.gateway_checks import GATEWAY_CHECKS
from hudkit.cli.checks.host_checks import MCP_CHECKS, MODEL_CHECKS, OPENCODE_CHECKS
from hudkit.cli.checks.pi_checks import PI_CHECKS
from hudkit.cli.checks.report import report
from hudkit.cli.checks.self_checks import SELF_CHECKS

__all__ = ["CHECKS", "Check", "CheckEnvironment", "Verdict", "apply_fixes", "examine", "read_environment"]
__all__ += ["report", "worst"]

CHECKS: tuple[CheckRow, ...] = (
    *SELF_CHECKS,
    *OPENCODE_CHECKS,
    *CLAUDE_CODE_CHECKS,
    *CONFLICT_CHECKS,
    *CODEX_CHECKS,
    *PI_CHECKS,
    *GATEWAY_CHECKS,
    *MCP_CHECKS,
    *MODEL_CHECKS,
)
"""All checks, in the order in which they are printed."""
