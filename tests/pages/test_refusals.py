"""What is lost of each source is a table of text: nothing in a template's own words is markup."""

from core.chat import Forecast, Loss
from pages.components.refusals import losses_table


def test_every_loss_has_its_row_with_what_would_save_it():
    refused = Loss("refused:no_b", (3, 5), 2, 2, "No <b> here.", "quarantine the row")
    drawn = losses_table([Forecast("mine", 90, 60, (), (), (), (refused,)), Forecast("fine", 9, 9, (4,), (0.5,), (), ())])
    assert drawn.count("<tr>") == 2
    assert "2 of 60" in drawn and "quarantine the row" in drawn and "fine" not in drawn
    assert "<b>" not in drawn and "&lt;b&gt;" in drawn
