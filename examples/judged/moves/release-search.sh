cat >notes.md <<'END'
# Release 0.9.0 (2025-04-02)

## Breaking changes

- Index files of version 0.7 must be built again. (#79)

## Added

- Queries may contain quoted phrases. (#77)

## Fixed

- Results with equal scores keep their order. (#81)
END
