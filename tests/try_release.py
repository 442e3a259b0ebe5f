"""Is everything ready to be uploaded? Prints the commands that are left, or says what is missing.

`make release` runs it, after all tests and with both packages in dist/: `python tests/try_release.py dist`.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def missing(dist, is_clean, tags, texts):
    """What keeps this version from being released; nothing, if all is well."""
    version = re.search(r'^__version__ = "(.+)"$', texts["src/kibitz/__init__.py"], re.M)[1]
    found = []
    if f"\nversion: {version}\n" not in texts["CITATION.cff"]:
        found.append(f"CITATION.cff does not name version {version}")
    if not re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", texts["CHANGELOG.md"], re.M):
        found.append(f"CHANGELOG.md has no heading '## {version} - YYYY-MM-DD' with the day of the release")
    names = sorted(each.name for each in Path(dist).iterdir())
    if names != [f"kibitz-{version}-py3-none-any.whl", f"kibitz-{version}.tar.gz"]:
        found.append(f"{dist} holds {', '.join(names) or 'nothing'}, not the packages of {version} alone")
    if f"v{version}" in tags:
        found.append(f"there is a tag v{version} already: raise __version__")
    if not is_clean:
        found.append("not everything is committed")
    return version, found


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def main(dist):
    names = ("src/kibitz/__init__.py", "CITATION.cff", "CHANGELOG.md")
    texts = {name: (ROOT / name).read_text() for name in names}
    clean = not git("status", "--porcelain").strip()
    version, found = missing(dist, clean, git("tag").split(), texts)
    if found:
        sys.exit("Not ready to be released:\n" + "\n".join(f"- {each}" for each in found))
    print(f"Kibitz {version} is ready. What is left is to say so:")
    print(f"  git tag -a v{version} -m 'Kibitz {version}' && git push origin v{version}")
    print(f"  twine upload {dist}/*")


if __name__ == "__main__":
    main(sys.argv[1])
