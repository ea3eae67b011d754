"""The log file."""

import logging

from app.logs import LOG_NAME, start_logging, stop_logging


def test_records_reach_the_file(tmp_path):
    handlers = start_logging(tmp_path / "logs")
    logging.getLogger("app.test").info("a thing happened")
    stop_logging(handlers)
    assert "a thing happened" in (tmp_path / "logs" / LOG_NAME).read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_made_costs_the_file_only(tmp_path, logfail):
    logfail.expect("No log file")
    (tmp_path / "file").write_text("")
    handlers = start_logging(tmp_path / "file" / "logs")
    stop_logging(handlers)
    assert len(handlers) == 1
