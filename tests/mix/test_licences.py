import pytest

from core.mix.licences import Part, kind_of, mix_licences
from core.sources.catalogue import Catalogue


@pytest.mark.parametrize(
    ("licence", "name", "commercial"),
    [
        ("CC-BY-NC-4.0", "non-commercial", "no"),
        ("cc-by-nc-sa-3.0", "non-commercial", "no"),
        ("Research only", "non-commercial", "no"),
        ("ODC-BY-1.0 (parts non-commercial)", "parts non-commercial", "no"),
        (None, "no licence declared", "unclear"),
        ("unknown", "no licence declared", "unclear"),
        ("other (derivative of several sources)", "terms of its own", "unclear"),
        ("other", "terms of its own", "unclear"),
        ("llama3.1", "commercial use under conditions", "conditions"),
        ("bigscience-openrail-m", "commercial use under conditions", "conditions"),
        ("CC-BY-ND-4.0", "no derivatives", "conditions"),
        ("CC-BY-SA-4.0", "share alike", "yes"),
        ("AGPL-3.0", "share alike", "yes"),
        ("GPL-3.0", "share alike", "yes"),
        ("odbl", "share alike", "yes"),
        ("CC-BY-4.0", "attribution", "yes"),
        ("cc_by_4.0", "attribution", "yes"),
        ("odc-by", "attribution", "yes"),
        ("MIT", "permissive", "yes"),
        ("Apache-2.0", "permissive", "yes"),
        ("bsd-3-clause", "permissive", "yes"),
        ("CC0-1.0", "public domain", "yes"),
        ("unlicense", "public domain", "yes"),
    ],
)
def test_a_licence_is_known_by_its_name(licence, name, commercial):
    assert (kind_of(licence).name, kind_of(licence).commercial) == (name, commercial)


def test_the_strictest_licence_comes_first_and_excluding_parts_are_warned_of():
    found = mix_licences(
        [Part("a", "MIT", 60), Part("b", "CC-BY-NC-4.0", 30), Part("c", None, 10), Part("d", "MIT", 100), Part("gone", "CC-BY-NC-4.0", 0)]
    )
    assert [(share.licence, share.sources, share.rows, share.share) for share in found.licences] == [
        ("CC-BY-NC-4.0", ("b",), 30, 0.15),
        (None, ("c",), 10, 0.05),
        ("MIT", ("a", "d"), 160, 0.8),
    ]
    assert found.commercial == "no"
    assert found.warnings == (
        "b (CC-BY-NC-4.0, 15.0% of rows) excludes commercial use, in part at least.",
        "c (no licence declared, 5.0% of rows) does not say whether commercial use is allowed: ask its authors.",
    )
    assert mix_licences([Part("a", "MIT", 1)]).warnings == ()
    assert mix_licences([]).commercial == "unclear"


def test_every_licence_of_the_catalogue_is_known(workspace):
    kinds = {entry.licence: kind_of(entry.licence).name for entry in Catalogue.load(workspace).entries() if entry.licence}
    assert [licence for licence, name in kinds.items() if name == "terms of its own"] == ["other (derivative of several sources)"]
