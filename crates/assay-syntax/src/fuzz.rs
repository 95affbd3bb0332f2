//! Damaged YAML.

use assay_test::{fuzz, shared_seeds};

use crate::yaml::Yaml;

#[test]
fn damaged_yaml_never_panics() {
    let mut seeds = shared_seeds("skills", &[".yaml", ".yml"], 40);
    seeds.extend(shared_seeds("tasks", &[".yaml", ".yml"], 40));
    seeds.push(b"name: a\ndescription: >-\n  Two\n  lines\nlist:\n  - 1\n  - {a: b, 'c': [d, \"e\"]}\nanchor: &x {y: *x}\n".to_vec());
    fuzz(&seeds, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        drop(Yaml::parse(&text, 0));
    });
}
