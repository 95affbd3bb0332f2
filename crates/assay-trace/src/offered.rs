//! A skill that was put into a sandbox.

/// A skill that was put into a sandbox.
#[derive(Debug, Clone, Copy)]
pub struct OfferedSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// The body of its SKILL.md.
    pub body: &'a str,
    /// The path of its folder in the sandbox, without a trailing slash. If it is empty (unknown), a
    /// folder of the skill's name below one called `skills`, or with a `SKILL.md`, is taken for it.
    pub mount: &'a str,
    /// Its files, relative to that folder.
    pub files: &'a [String],
}
