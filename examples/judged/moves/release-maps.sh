cat >notes.md <<'END'
# Release 1.0.0 (2025-06-30)

## Breaking changes

- Coordinates are written as latitude, longitude. (#31)

## Added

- Tiles are cached on disk. (#28)

## Fixed

- Zooming out at the date line works. (#33)
END
