//! Directives of real skills.

use std::collections::BTreeMap;
use std::fs;

use assay_audit::directive::{DIRECTIVES, Kind, SkillPackage, extract};
use assay_test::shared;

/// Nine public skills: every kind is found in some of them, and each directive is where it says.
#[test]
#[ignore = "needs shared data"]
fn public_skills_have_directives_of_every_kind() {
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    let (mut skills, mut with_demands, mut conditional) = (0, 0, 0);
    for entry in fs::read_dir(shared("cta/skills")).unwrap() {
        let folder = entry.unwrap().path();
        let package = SkillPackage::read(&folder).unwrap();
        let directives = extract(&package);
        let name = folder.display();
        assert!((3..=DIRECTIVES).contains(&directives.len()), "{name}: {}", directives.len());
        for directive in &directives {
            let file = package.files.iter().find(|file| file.path == directive.file).unwrap();
            let line = file.text.lines().nth(directive.line - 1).unwrap_or_default().trim();
            assert!(line.starts_with(&directive.text), "{name}: {directive:?}");
            *kinds.entry(directive.kind).or_default() += 1;
        }
        skills += 1;
        with_demands += usize::from(directives.iter().filter(|directive| !directive.example).count() >= 3);
        conditional += directives.iter().filter(|directive| directive.condition.is_some()).count();
    }
    assert_eq!(skills, 9);
    assert!(with_demands >= 7, "{with_demands}");
    assert!(conditional >= 3, "{conditional}");
    for kind in [Kind::Command, Kind::Flag, Kind::File, Kind::Literal, Kind::Format, Kind::Threshold] {
        assert!(kinds.get(&kind).is_some_and(|count| *count >= 3), "{kind:?}: {kinds:?}");
    }
}
