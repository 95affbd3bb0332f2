cat >notes.md <<'END'
# Release 7.0.0 (2025-09-01)

## Breaking changes

- The scheduler needs PostgreSQL 15. (#2203)

## Added

- Jobs can wait for other jobs. (#2198)

## Fixed

- A job that is cancelled frees its worker. (#2210)
END
