use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::*;
use crate::docker::files::Owner;
use crate::docker::write;
use assay_fs::Manifest;

struct Bench {
    dir: tempfile::TempDir,
    layers: Layers,
}

/// Two layers of an image, and a container's changes. `None` if this process may not set the
/// attributes.
fn bench() -> Option<Bench> {
    if !can_read_layers() {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    for folder in [
        "upper/app",
        "upper/made/anew",
        "top/app/sub",
        "top/made",
        "base/app/sub",
        "base/made/anew",
        "base/etc",
    ] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    let files = [
        ("base/app/old", "base"),
        ("base/app/gone", "base"),
        ("base/app/sub/hidden", "base"),
        ("base/made/anew/was", "base"),
        ("base/etc/passwd", "base"),
        ("top/app/old", "top"),
        ("top/app/sub/seen", "top"),
        ("upper/app/new", "upper"),
        ("upper/app/old", "upper"),
        ("upper/made/anew/is", "upper"),
    ];
    for (path, text) in files {
        fs::write(at(path), text).unwrap();
    }
    symlink("/etc", at("upper/app/link")).unwrap();
    mknodat(CWD, at("upper/app/gone"), FileType::CharacterDevice, Mode::empty(), 0).unwrap();
    mknodat(CWD, at("upper/app/pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    for folder in ["upper/made/anew", "top/app/sub"] {
        setxattr(at(folder), "trusted.overlay.opaque", b"y", XattrFlags::empty()).unwrap();
    }
    let lower = format!("{}:{}", at("top").display(), at("base").display());
    let data = HashMap::from([
        ("UpperDir".to_owned(), at("upper").display().to_string()),
        ("LowerDir".to_owned(), lower),
    ]);
    let layers = Layers::of(&data, vec![PathBuf::from("/etc/hosts"), PathBuf::from("/data/volume")]).unwrap();
    Some(Bench { dir, layers })
}

#[test]
fn layers_are_merged() {
    let Some(Bench { dir, layers }) = bench() else { return };
    let check = |path: &str, expected: Option<Result<&str, &str>>| {
        let read = layers.read(Path::new(path), 100).unwrap();
        let read = read
            .map(|read| read.map(|bytes| String::from_utf8(bytes).unwrap()))
            .map_err(|error| error.to_string())
            .transpose();
        let read = read.as_ref().map(|read| read.as_deref().map_err(String::as_str));
        assert_eq!(read, expected, "{path}");
    };
    check("/app/new", Some(Ok("upper")));
    check("/app/old", Some(Ok("upper")));
    check("/app/sub/seen", Some(Ok("top")));
    check("/etc/passwd", Some(Ok("base")));
    // Removed, hidden by a recreated folder, and in no layer.
    check("/app/gone", None);
    check("/app/sub/hidden", None);
    check("/made/anew/was", None);
    check("/none", None);
    check("/app", Some(Err("it is a folder")));
    check("/app/link", Some(Err("it is a symbolic link")));
    check("/app/pipe", Some(Err("it is a pipe")));
    let larger = layers.read(Path::new("/app/old"), 3).unwrap().unwrap_err();
    assert_eq!(larger.to_string(), "larger than 3 bytes");
    assert_eq!(layers.stat(Path::new("/app/link")).unwrap().unwrap().link.unwrap(), Path::new("/etc"));

    let to = dir.path().join("to");
    let report = layers.fetch(Path::new("/app"), &to, &Caps::default()).unwrap().unwrap().unwrap();
    assert_eq!(report.left_out.len(), 1, "{report:?}");
    let manifest = Manifest::scan(&to, &Caps::default()).unwrap();
    let names: Vec<_> = manifest.entries.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(names, ["link", "new", "old", "sub", "sub/seen"]);
}

#[test]
fn unusual_entries_are_left_to_the_daemon() {
    let Some(Bench { dir, layers }) = bench() else { return };
    let to = dir.path().join("to");
    assert!(layers.read(Path::new("/app/link/passwd"), 100).is_err());
    assert!(layers.read(Path::new("/etc/hosts"), 100).is_err());
    assert!(layers.stat(Path::new("/data/volume/x")).is_err());
    assert!(layers.fetch(Path::new("/data"), &to, &Caps::default()).is_err());
    assert!(layers.stat(Path::new("/app/../etc")).is_err());
    let redirected = dir.path().join("upper/moved");
    fs::create_dir(&redirected).unwrap();
    setxattr(&redirected, "trusted.overlay.redirect", b"/app", XattrFlags::empty()).unwrap();
    assert!(layers.stat(Path::new("/moved")).is_err());
    assert!(layers.changes().is_err());
    fs::remove_dir(&redirected).unwrap();
    assert!(layers.changes().is_ok());
    let deep: PathBuf = (0..=DEPTH).map(|_| "d").collect();
    fs::create_dir_all(dir.path().join("upper/app").join(deep)).unwrap();
    assert!(layers.changes().is_err());
    assert!(layers.fetch(Path::new("/app"), &to, &Caps::default()).is_err());
    // What was copied before the error is removed.
    assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
}

#[test]
fn lists_differences_from_the_image() {
    let Some(Bench { dir: _dir, layers }) = bench() else { return };
    let changes = layers.changes().unwrap();
    let found: Vec<_> = changes.iter().map(|change| (change.path.to_str().unwrap(), change.kind)).collect();
    let expected = [
        ("/app", ChangeKind::Modified),
        ("/app/gone", ChangeKind::Removed),
        ("/app/link", ChangeKind::Added),
        ("/app/new", ChangeKind::Added),
        ("/app/old", ChangeKind::Modified),
        ("/app/pipe", ChangeKind::Added),
        ("/made", ChangeKind::Modified),
        ("/made/anew", ChangeKind::Modified),
        ("/made/anew/is", ChangeKind::Added),
        ("/made/anew/was", ChangeKind::Removed),
    ];
    assert_eq!(found, expected);
}

#[test]
fn writes_to_the_upper_layer_only() {
    let Some(Bench { dir, layers }) = bench() else { return };
    let upper = |path: &str| dir.path().join("upper").join(path);
    let own = Owner { uid: 7, gid: 8 };
    fs::set_permissions(dir.path().join("base/etc"), fs::Permissions::from_mode(0o2751)).unwrap();
    layers.write_bytes(b"planted", Path::new("etc/passwd"), 0o640, own).unwrap();
    let file = fs::metadata(upper("etc/passwd")).unwrap();
    assert_eq!((file.mode() & 0o7777, file.uid(), file.gid()), (0o640, 7, 8));
    // The folder has the image's status, and the image is unchanged.
    assert_eq!(fs::metadata(upper("etc")).unwrap().mode() & 0o7777, 0o2751);
    assert_eq!(fs::read_to_string(dir.path().join("base/etc/passwd")).unwrap(), "base");
    // Replaces what was removed, and a link, which is not followed.
    layers.write_bytes(b"again", Path::new("app/gone"), 0o600, own).unwrap();
    assert_eq!(fs::read_to_string(upper("app/gone")).unwrap(), "again");
    layers.write_bytes(b"file", Path::new("app/link"), 0o600, own).unwrap();
    assert!(fs::symlink_metadata(upper("app/link")).unwrap().is_file());

    let from = dir.path().join("from");
    fs::create_dir_all(from.join("sub")).unwrap();
    fs::write(from.join("sub/file"), "x").unwrap();
    let report = layers.write_files(&from, Path::new("tests"), own, &Caps::default()).unwrap();
    assert_eq!((report.files, report.bytes), (1, 1));
    assert_eq!(fs::metadata(upper("tests/sub")).unwrap().uid(), 7);

    symlink("/etc", upper("way")).unwrap();
    for refused in ["way/x", "data/volume/x", "app", "app/pipe/x"] {
        let planted = layers.write_bytes(b"", Path::new(refused), 0o600, own);
        assert!(planted.is_err(), "{refused}");
    }
    let missing = layers.write_files(&dir.path().join("none"), Path::new("tests"), own, &Caps::default());
    assert!(matches!(missing, Err(write::Halt::Source(_))));
}
