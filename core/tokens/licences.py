"""What the licences of training data ask of whoever passes a dataset on: one sentence each, for the dataset card.

It knows licences by their SPDX names. It gives no advice on law, and says so of a licence it does not know.
"""

import re

_ASKS = {
    "cc0": "Nothing is asked for.",
    "public-domain": "Nothing is asked for.",
    "unlicense": "Nothing is asked for.",
    "mit": "Keep the copyright notice and the licence text.",
    "isc": "Keep the copyright notice and the licence text.",
    "bsd": "Keep the copyright notice and the licence text; do not use the authors' names to promote what is made of it.",
    "apache": "Keep the licence text and any NOTICE file, and say what was changed.",
    "cc-by": "Name the authors, link the licence, and say what was changed.",
    "cc-by-sa": "Name the authors, link the licence, say what was changed, and pass what is made of it on under the same licence.",
    "cc-by-nc": "Name the authors, link the licence, say what was changed, and do not use it commercially.",
    "cc-by-nc-sa": "Name the authors, say what was changed, no commercial use, and pass what is made of it on under the same licence.",
    "cc-by-nd": "Name the authors and link the licence; changed versions may not be passed on, and this dataset is one.",
    "cc-by-nc-nd": "Name the authors; no commercial use, and changed versions may not be passed on: this dataset is one.",
    "odc-by": "Name the database and its licence wherever the data or something made of them are used in public.",
    "odbl": "Name the database, and pass a changed database on under the same licence, open.",
    "pddl": "Nothing is asked for.",
    "gpl": "Pass what is made of it on under the same licence, with its source.",
    "agpl": "Pass what is made of it on under the same licence, with its source, also to users over a network.",
    "lgpl": "Pass changed versions on under the same licence, with their source.",
    "openrail": "Keep the licence and its list of forbidden uses with every copy.",
    "cdla-permissive": "Keep the licence text with the data.",
    "cdla-sharing": "Pass the data and changes to them on under the same licence, with attribution.",
}
UNKNOWN = "Not known here: read the source's own terms before passing anything on."
RESTRICTED = "Parts of it are under other terms: read the source's own card."

_VERSION = re.compile(r"-v?\d+(\.\d+)*(-clause)?(-or-later|-only)?$")


def asks(licence: str | None) -> str:
    """What the licence asks for, in one sentence or two; `UNKNOWN` where it is not known.

    "CC-BY-4.0" and "cc-by-sa 3.0" are read alike; a remark in brackets ("(parts non-commercial)") adds `RESTRICTED`.
    """
    name, _, remark = (licence or "").strip().lower().partition("(")
    name = _VERSION.sub("", "-".join(name.replace("_", " ").split()).replace("-license", "").replace("-licence", ""))
    known = _ASKS.get(name)
    if known is None:
        return UNKNOWN
    return f"{known} {RESTRICTED}" if remark.strip() else known
