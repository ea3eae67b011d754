from ui.experiments.rows import RunState, Shown


def test_run_and_stop_are_one_button(qtbot, page):
    details = page.details
    details.thoroughness.setCurrentIndex(1)
    with qtbot.waitSignal(details.run_requested) as asked:
        details.start.click()
    assert asked.args == ["full"]
    details.show_state(RunState(running="cache", part=0.25, words="1 of 4 · ~20 s left"))
    assert details._progress.value() == 250
    assert details._words.text() == "1 of 4 · ~20 s left"
    assert not details.thoroughness.isEnabled()
    with qtbot.waitSignal(details.stop_requested):
        details.start.click()


def test_why_nothing_can_be_started_is_said(page):
    page.details.show_state(RunState(reason="Load a model first."))
    assert not page.details.start.isEnabled()
    assert page.details._words.text() == "Load a model first."


def test_a_result_has_a_sentence_charts_and_a_table(page, shown):
    details = page.details
    assert not details.export.isVisible()
    details.show_result(shown)
    assert details._sentence.text() == "It grows."
    assert details._notes.text() == "Small model"
    assert len(details.figures.charts) == 2
    details.as_table.click()
    _title, table = details.figures._tables[0]
    assert table.isVisible()
    assert table.item(1, 1).text() == "6.0 ms"
    assert "(ms)" not in table.horizontalHeaderItem(1).text()
    assert details.as_table.text() == "Hide the table"
    details.show_result(Shown())
    assert not details.figures.isVisible()
