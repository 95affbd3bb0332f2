cat >notes.md <<'END'
# Release 5.1.2 (2025-05-19)

## Breaking changes

- The option `relay` is now called `next_hop`. (#1187)

## Added

- Messages can be scheduled. (#1195)

## Fixed

- Attachments with long names are delivered. (#1201)
END
