"""Custom sections: text that a user or an agent wrote, run in a sandbox before a frame is composed."""

from hudkit.custom.definition import FIELDS, NAME, Definition, check, parse
from hudkit.custom.files import Found, Places, Shelf, trust
from hudkit.custom.forms import Made, made_of
from hudkit.custom.prepare import Bench, Outcome, Preparation
from hudkit.custom.project_file import ProjectFile, ProjectTable, project_table, trust_project
from hudkit.custom.sandbox import Allowed, Sandbox, SandboxError, missing
from hudkit.custom.seen import given

__all__ = [
    "FIELDS",
    "NAME",
    "Allowed",
    "Bench",
    "Definition",
    "Found",
    "Made",
    "Outcome",
    "Places",
    "Preparation",
    "ProjectFile",
    "ProjectTable",
    "Sandbox",
    "SandboxError",
    "Shelf",
    "check",
    "given",
    "made_of",
    "missing",
    "parse",
    "project_table",
    "trust",
    "trust_project",
]
