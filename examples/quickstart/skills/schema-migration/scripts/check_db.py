#!/usr/bin/env python3
"""Look at a migrated SQLite database by the house rules: check_db.py DATABASE. Exit status 1 where one is broken."""
import pathlib
import sqlite3
import sys


def look(path):
    """Pairs of a fact and whether it is in order."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    one = lambda sql: db.execute(sql).fetchone()[0]
    mode = one("PRAGMA journal_mode")
    yield f"journal mode {mode}", mode == "delete"
    yield "no write-ahead log", not pathlib.Path(f"{path}-wal").exists()
    whole = one("PRAGMA integrity_check")
    yield f"integrity {whole}", whole == "ok"
    dangling = db.execute("PRAGMA foreign_key_check").fetchall()
    yield f"dangling references {len(dangling)}", not dangling
    version = one("PRAGMA user_version")
    last = db.execute("SELECT number, name FROM _migrations ORDER BY number DESC LIMIT 3").fetchall()[::-1]
    yield f"user_version {version}", bool(last) and version == last[-1][0]
    phases = [name.split("_")[1] for _, name in last]
    yield f"last migrations {', '.join(name for _, name in last)}", phases == ["expand", "backfill", "contract"]
    yield "names bear their numbers", all(name.startswith(f"{number:04d}_") for number, name in last)
    views = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    views = [name for name in views if name.endswith("_compat")]
    yield f"views for late readers: {', '.join(views)}", len(views) == 1
    for row in db.execute("SELECT * FROM _quarantine"):
        yield f"quarantine {row}", True


def main(arguments):
    if len(arguments) != 1:
        print("usage: check_db.py DATABASE", file=sys.stderr)
        return 2
    bad = 0
    for fact, good in look(arguments[0]):
        print("ok  " if good else "BAD ", fact)
        bad |= not good
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
