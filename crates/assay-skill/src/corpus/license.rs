//! Licences as SPDX identifiers, from a skill's declaration or the text of a licence.

use super::normal;

/// Folded names, and their identifiers.
const NAMES: [(&str, &str); 72] = [
    ("mit", "MIT"),
    ("expat", "MIT"),
    ("apache", "Apache-2.0"),
    ("apache2", "Apache-2.0"),
    ("apache20", "Apache-2.0"),
    ("asl20", "Apache-2.0"),
    ("bsd3", "BSD-3-Clause"),
    ("bsd3clause", "BSD-3-Clause"),
    ("3clausebsd", "BSD-3-Clause"),
    ("newbsd", "BSD-3-Clause"),
    ("modifiedbsd", "BSD-3-Clause"),
    ("bsd2", "BSD-2-Clause"),
    ("bsd2clause", "BSD-2-Clause"),
    ("2clausebsd", "BSD-2-Clause"),
    ("simplifiedbsd", "BSD-2-Clause"),
    ("0bsd", "0BSD"),
    ("isc", "ISC"),
    ("mpl2", "MPL-2.0"),
    ("mpl20", "MPL-2.0"),
    ("mozillapublic20", "MPL-2.0"),
    ("gpl2", "GPL-2.0-only"),
    ("gpl20", "GPL-2.0-only"),
    ("gpl20only", "GPL-2.0-only"),
    ("gplv2", "GPL-2.0-only"),
    ("gpl20orlater", "GPL-2.0-or-later"),
    ("gpl2orlater", "GPL-2.0-or-later"),
    ("gpl3", "GPL-3.0-only"),
    ("gpl30", "GPL-3.0-only"),
    ("gpl30only", "GPL-3.0-only"),
    ("gplv3", "GPL-3.0-only"),
    ("gnugeneralpublic3", "GPL-3.0-only"),
    ("gnugeneralpublic30", "GPL-3.0-only"),
    ("gpl30orlater", "GPL-3.0-or-later"),
    ("gpl3orlater", "GPL-3.0-or-later"),
    ("lgpl21", "LGPL-2.1-only"),
    ("lgpl21only", "LGPL-2.1-only"),
    ("lgpl21orlater", "LGPL-2.1-or-later"),
    ("lgpl3", "LGPL-3.0-only"),
    ("lgpl30", "LGPL-3.0-only"),
    ("lgpl30only", "LGPL-3.0-only"),
    ("lgplv3", "LGPL-3.0-only"),
    ("lgpl30orlater", "LGPL-3.0-or-later"),
    ("agpl3", "AGPL-3.0-only"),
    ("agpl30", "AGPL-3.0-only"),
    ("agpl30only", "AGPL-3.0-only"),
    ("agplv3", "AGPL-3.0-only"),
    ("agpl30orlater", "AGPL-3.0-or-later"),
    ("cc0", "CC0-1.0"),
    ("cc010", "CC0-1.0"),
    ("cc010universal", "CC0-1.0"),
    ("ccby40", "CC-BY-4.0"),
    ("ccby4", "CC-BY-4.0"),
    ("creativecommonsattribution40international", "CC-BY-4.0"),
    ("ccbysa40", "CC-BY-SA-4.0"),
    ("ccbysa4", "CC-BY-SA-4.0"),
    ("ccbync40", "CC-BY-NC-4.0"),
    ("ccbynd40", "CC-BY-ND-4.0"),
    ("ccbyncsa40", "CC-BY-NC-SA-4.0"),
    ("ccbyncnd40", "CC-BY-NC-ND-4.0"),
    ("unlicense", "Unlicense"),
    ("bsl10", "BSL-1.0"),
    ("boost10", "BSL-1.0"),
    ("busl11", "BUSL-1.1"),
    ("businesssource11", "BUSL-1.1"),
    ("zlib", "Zlib"),
    ("epl20", "EPL-2.0"),
    ("eclipsepublic20", "EPL-2.0"),
    ("eupl12", "EUPL-1.2"),
    ("artistic20", "Artistic-2.0"),
    ("elastic20", "Elastic-2.0"),
    ("wtfpl", "WTFPL"),
    ("ofl11", "OFL-1.1"),
];

/// Words around a licence's name that do not identify it.
const FILLERS: [&str; 26] = [
    "a",
    "at",
    "complete",
    "copying",
    "details",
    "file",
    "for",
    "full",
    "in",
    "is",
    "licence",
    "licence.md",
    "license",
    "license.md",
    "license.txt",
    "licensed",
    "of",
    "refer",
    "released",
    "see",
    "software",
    "terms",
    "the",
    "to",
    "under",
    "version",
];

/// A parsed declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Declared {
    /// An SPDX identifier, or several joined by `OR`.
    Spdx(String),
    /// The terms are in a file, which may be named.
    Elsewhere(Option<String>),
    /// Something else.
    Other,
}

/// Reads a declaration: an identifier, a name in words, or the location of the terms.
pub(crate) fn declared(text: &str) -> Declared {
    let text = text.trim();
    // The text after a name, in brackets or in a further sentence, gives the location or the owner
    // of the terms.
    let first = text.split(['(', ';', '\n']).next().unwrap_or(text);
    let first = first.split(". ").next().unwrap_or(first);
    if let Some(found) = [text, first].into_iter().find_map(spdx) {
        return Declared::Spdx(found);
    }
    let lower = text.to_lowercase();
    let file = lower
        .split([' ', ',', '(', ')', '`', '[', ']', '"', '\''])
        .map(|word| word.trim_end_matches('.'))
        .find(|word| {
            let name = word.rsplit('/').next().unwrap_or(word);
            let stem = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".md")).unwrap_or(name);
            matches!(stem, "license" | "licence" | "copying") || (stem != name && stem.starts_with("licen"))
        });
    let Some(file) = file.filter(|_| !lower.contains("proprietary")) else { return Declared::Other };
    let is_named = file.contains('.') || file.contains('/');
    let points = is_named
        || lower == file
        || ["see", "terms", "refer", "file"].iter().any(|word| lower.contains(word));
    if !points {
        return Declared::Other;
    }
    // Its letters are those of the declaration, since names of files have cases.
    let at = lower.find(file).filter(|_| lower.len() == text.len());
    let name = at.and_then(|at| text.get(at..at + file.len())).filter(|_| is_named);
    Declared::Elsewhere(name.map(str::to_owned))
}

/// The identifier of a licence by its name, or of several of which one may be chosen.
fn spdx(text: &str) -> Option<String> {
    let words: Vec<String> = text
        .to_lowercase()
        .split([' ', ',', '/', '\t', ':', '"', '`'])
        .map(|word| word.trim_matches(['.', '(', ')']).to_owned())
        .filter(|word| !word.is_empty() && !FILLERS.contains(&word.as_str()))
        .collect();
    let choices: Option<Vec<&str>> = words
        .split(|word| word == "or")
        .map(|words| {
            let number = |word: &String| {
                word.strip_prefix('v')
                    .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
                    .map(str::to_owned)
            };
            let name: String =
                words.iter().map(|word| number(word).unwrap_or_else(|| word.clone())).collect();
            named(&name)
        })
        .collect();
    choices.map(|all| all.join(" OR "))
}

fn named(name: &str) -> Option<&'static str> {
    // `GPL-3.0+` is the older way to write `GPL-3.0-or-later`.
    let later = name.strip_suffix('+').map(|name| normal::fold(name) + "orlater");
    let folded = later.unwrap_or_else(|| normal::fold(name));
    NAMES.into_iter().find_map(|(known, id)| (known == folded).then_some(id))
}

/// Titles of licences, as they are at the beginning of their texts, and their identifiers.
const TITLES: [(&str, &str); 15] = [
    ("gnu affero general public license version 3", "AGPL-3.0-only"),
    ("gnu lesser general public license version 3", "LGPL-3.0-only"),
    ("gnu lesser general public license version 2.1", "LGPL-2.1-only"),
    ("gnu general public license version 3", "GPL-3.0-only"),
    ("gnu general public license version 2", "GPL-2.0-only"),
    ("mozilla public license version 2.0", "MPL-2.0"),
    ("mozilla public license, version 2.0", "MPL-2.0"),
    ("eclipse public license - v 2.0", "EPL-2.0"),
    ("boost software license - version 1.0", "BSL-1.0"),
    ("cc0 1.0 universal", "CC0-1.0"),
    ("attribution-noncommercial-sharealike 4.0 international", "CC-BY-NC-SA-4.0"),
    ("attribution-noncommercial 4.0 international", "CC-BY-NC-4.0"),
    ("attribution-sharealike 4.0 international", "CC-BY-SA-4.0"),
    ("attribution 4.0 international", "CC-BY-4.0"),
    ("this is free and unencumbered software released into the public domain", "Unlicense"),
];

/// Words at the beginning of texts that restrict use and mention or contain a free licence, and
/// their identifiers, if any.
const RESTRICTED: [(&str, Option<&str>); 7] = [
    ("commons clause", None),
    ("business source license 1.1", Some("BUSL-1.1")),
    ("business source license", None),
    ("functional source license", None),
    ("fsl-1.1", None),
    ("elastic license 2.0", Some("Elastic-2.0")),
    ("elastic license", None),
];

/// How many bytes count as the beginning of a text: other licences are named further down.
const BEGINNING: usize = 600;

/// The identifier of the licence whose text this is, by its unmistakable words.
pub(crate) fn of_text(text: &str) -> Option<&'static str> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let begin = &words[..words.floor_char_boundary(BEGINNING.min(words.len()))];
    let has = |part: &str| words.contains(part);
    if let Some((_, id)) = RESTRICTED.into_iter().find(|(title, _)| begin.contains(title)) {
        return id;
    }
    if let Some((_, id)) = TITLES.into_iter().find(|(title, _)| begin.contains(title)) {
        return Some(id);
    }
    if begin.contains("permission is hereby granted, free of charge")
        && has("the software is provided \"as is\"")
    {
        return Some("MIT");
    }
    if begin.contains("apache license") && begin.contains("version 2.0") {
        return Some("Apache-2.0");
    }
    if has("redistribution and use in source and binary forms") {
        return Some(if has("neither the name") { "BSD-3-Clause" } else { "BSD-2-Clause" });
    }
    if has("permission to use, copy, modify, and/or distribute this software for any purpose") {
        return Some(if has("the above copyright notice") { "ISC" } else { "0BSD" });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_identifiers_pointers_or_neither() {
        let check = |text: &str, expected: Declared| assert_eq!(declared(text), expected, "{text:?}");
        let id = |id: &str| Declared::Spdx(id.to_owned());
        let at = |file: &str| Declared::Elsewhere(Some(file.to_owned()));
        check("MIT", id("MIT"));
        check("The MIT License", id("MIT"));
        check("MIT License (see LICENSE)", id("MIT"));
        check("Apache-2.0 license", id("Apache-2.0"));
        check("Apache License, Version 2.0", id("Apache-2.0"));
        check("Apache v2", id("Apache-2.0"));
        check("apache 2.0. Copyright 2026 A. Body", id("Apache-2.0"));
        check("Licensed under the terms of the MIT license", id("MIT"));
        check("BSD-3-Clause", id("BSD-3-Clause"));
        check("BSD 3-Clause License", id("BSD-3-Clause"));
        check("CC-BY-SA-4.0", id("CC-BY-SA-4.0"));
        check("CC BY-SA 4.0", id("CC-BY-SA-4.0"));
        check("GPL-3.0+", id("GPL-3.0-or-later"));
        check("GPLv3 license", id("GPL-3.0-only"));
        check("The Unlicense", id("Unlicense"));
        check("MIT OR Apache-2.0", id("MIT OR Apache-2.0"));
        check("Complete terms in LICENSE.txt", at("LICENSE.txt"));
        check("see LICENSE.md.", at("LICENSE.md"));
        check("See the LICENSE file", Declared::Elsewhere(None));
        check("LICENSE", Declared::Elsewhere(None));
        check("Terms in [LICENSE](../LICENSE)", Declared::Elsewhere(None));
        check("Proprietary. LICENSE.txt has complete terms", Declared::Other);
        check("BSD", Declared::Other);
        check("commercial license", Declared::Other);
        check("MIT and what I like", Declared::Other);
        check("", Declared::Other);
    }

    #[test]
    fn licence_texts_are_recognized_by_their_words() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(of_text(text), expected, "{text}");
        check(
            "Permission is hereby granted, free of charge … THE SOFTWARE IS PROVIDED \"AS IS\"",
            Some("MIT"),
        );
        check("  Apache License\n  Version 2.0, January 2004", Some("Apache-2.0"));
        check(
            "GNU GENERAL PUBLIC LICENSE\n Version 3 … use the GNU Lesser General Public License",
            Some("GPL-3.0-only"),
        );
        let bsd = "Redistribution and use in source and binary forms";
        check(bsd, Some("BSD-2-Clause"));
        check(&format!("{bsd} … Neither the name of"), Some("BSD-3-Clause"));
        check("Creative Commons Attribution-ShareAlike 4.0 International", Some("CC-BY-SA-4.0"));
        check("All rights reserved.", None);
        let change = "Licensor: X. Change License: Apache License, Version 2.0";
        check(&format!("Business Source License 1.1 {change}"), Some("BUSL-1.1"));
        check(&format!("Functional Source License, Version 1.1 {change}"), None);
        check(&format!("Elastic License 2.0 {change}"), Some("Elastic-2.0"));
        let mit = "Permission is hereby granted, free of charge … the software is provided \"as is\"";
        check(&format!("\"Commons Clause\" License Condition v1.0 … {mit}"), None);
        check(&format!("{} {change}", "word ".repeat(200)), None);
        check(&format!("{} GNU General Public License version 3", "word ".repeat(200)), None);
    }

    #[test]
    fn licence_names_are_unique_and_folded() {
        for (at, (name, _)) in NAMES.iter().enumerate() {
            assert_eq!(normal::fold(name), *name);
            assert!(NAMES[..at].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
