//! Directives by rules, without a model.

use assay_audit::directive::SkillPackage;
use assay_audit::directive::statement::read_statements;

use super::{DirectiveFile, DirectiveLines, DraftDirective, DraftDirectives};

/// The directives that rules find in a skill: the passages that tell an agent what to do, in the order of its files and lines.
pub fn find_directives(skill: &str, package: &SkillPackage) -> DraftDirectives {
    let found = read_statements(package);
    let directives = found.statements.into_iter().filter_map(|statement| {
        let lines = DirectiveLines::of_ranges(&statement.lines)?;
        Some(DraftDirective::of_words(skill, &statement.file, lines, statement.quote, statement.text))
    });
    let files = found.documents.into_iter().map(|document| DirectiveFile {
        skill: skill.to_owned(),
        file: document.file,
        lines: document.lines,
        read_to: document.read_to,
    });
    let mut list = DraftDirectives::new(files.collect(), directives.collect());
    list.number_directives();
    list
}
