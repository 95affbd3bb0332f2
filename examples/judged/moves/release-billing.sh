cat >notes.md <<'END'
# Release 2.4.0 (2025-03-11)

## Breaking changes

- The endpoint /v1/charge is removed; use /v2/charge. (#412)

## Added

- Invoices can be downloaded as PDF. (#398)

## Fixed

- A refund of zero no longer fails. (#405)
END
