"""Where the nodes of a round's picture stand."""

from hypothesis import given
from hypothesis import strategies as st

from pages.components.draft_tree import heights, round_picture


def nodes_of(parents: list[int]) -> list[dict]:
    depths: list[int] = []
    for parent in parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    return [
        {"token": place, "parent": parent, "depth": depth, "probability": 0.5, "accepted": place == 0}
        for place, (parent, depth) in enumerate(zip(parents, depths, strict=True))
    ]


trees = st.lists(st.integers(-1, 30), max_size=40).map(lambda raw: [min(parent, place - 1) for place, parent in enumerate(raw)])


@given(trees)
def test_no_two_nodes_of_a_depth_stand_in_the_same_place_and_parents_in_the_middle(parents: list[int]):
    nodes = nodes_of(parents)
    rows = heights(nodes)
    assert len({(node["depth"], row) for node, row in zip(nodes, rows, strict=True)}) == len(nodes)
    for place in range(len(nodes)):
        below = [rows[child] for child, parent in enumerate(parents) if parent == place]
        assert not below or min(below) <= rows[place] <= max(below)


def test_a_chain_is_one_line():
    assert heights(nodes_of([-1, 0, 1, 2])) == [0, 0, 0, 0]


def test_the_picture_names_every_token(monkeypatch):
    monkeypatch.setattr("pages.components.charts._dark", lambda: False)
    figure, height = round_picture({"committed": 9, "gained": [0], "nodes": nodes_of([-1, 0, 0])}, str)
    assert list(figure.data[-1].text) == ["9", "0", "1", "2"] and height > 120
