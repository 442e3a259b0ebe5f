"""Puts compiled code into a wheel, if `KIBITZ_PRECOMPILED_FILE` names an archive of it (`make wheel`).

Such a wheel is for one system and one version of Python. Without the variable the wheel is for all of them.
"""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrecompiledCode(BuildHookInterface):
    """The hook that hatchling calls before it builds a wheel."""

    def initialize(self, version, build_data):
        archive = os.environ.get("KIBITZ_PRECOMPILED_FILE")
        if archive and version == "standard":
            build_data["force_include"][os.path.abspath(archive)] = "kibitz/precompiled.zip"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
