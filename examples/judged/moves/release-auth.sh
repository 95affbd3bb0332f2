cat >notes.md <<'END'
# Release 3.2.0 (2025-08-14)

## Breaking changes

- Tokens without an expiry date are refused. (#649)

## Added

- Accounts can be recovered by two trusted contacts. (#640)

## Fixed

- Sessions end when a password changes. (#655)
END
