//! Words of prose that are distinctive without being set as code.

use super::lists::{EVERYDAY, EXTENSIONS, PROGRAMS};
use super::unit::{is_file, last_part};

/// Names of programs that are words of any sentence.
const ORDINARY: [&str; 88] = [
    "alias", "black", "break", "brew", "bundle", "case", "clear", "command", "composer", "continue",
    "convert", "cut", "date", "declare", "diff", "do", "done", "else", "env", "esac", "eval", "exit",
    "export", "false", "fi", "file", "find", "firebase", "flutter", "fly", "for", "function", "gem", "go",
    "head", "heroku", "host", "hugo", "id", "identify", "if", "in", "java", "join", "just", "kill", "less",
    "ln", "local", "ls", "magick", "make", "man", "mix", "more", "netlify", "node", "perl", "php", "play",
    "poetry", "python", "rails", "rake", "read", "return", "ruby", "select", "set", "shift", "sort",
    "source", "split", "tail", "tee", "test", "then", "time", "top", "touch", "true", "until", "vercel",
    "wait", "watch", "which", "while", "yes",
];

/// Common libraries and tools, which a sentence may choose between without setting them as code.
const LIBRARIES: [&str; 87] = [
    "aiohttp",
    "angular",
    "argparse",
    "asyncio",
    "axios",
    "babel",
    "bash",
    "beautifulsoup",
    "celery",
    "cypress",
    "dayjs",
    "django",
    "duckdb",
    "enzyme",
    "eval",
    "fastapi",
    "flask",
    "gunicorn",
    "httpx",
    "jax",
    "jquery",
    "kafka",
    "knex",
    "kubernetes",
    "lodash",
    "luxon",
    "lxml",
    "matplotlib",
    "mockito",
    "moment",
    "mongodb",
    "mongoose",
    "multiprocessing",
    "nginx",
    "nltk",
    "nodemon",
    "numpy",
    "opencv",
    "openpyxl",
    "optparse",
    "pandas",
    "pdfplumber",
    "pickle",
    "pillow",
    "plotly",
    "polars",
    "postgres",
    "powershell",
    "prisma",
    "puppeteer",
    "pydantic",
    "pylint",
    "pypdf",
    "rabbitmq",
    "react",
    "redis",
    "reportlab",
    "requests",
    "rollup",
    "sass",
    "scipy",
    "seaborn",
    "selenium",
    "sequelize",
    "sklearn",
    "spacy",
    "sqlalchemy",
    "sqlite",
    "storybook",
    "subprocess",
    "svelte",
    "tailwind",
    "tensorflow",
    "threading",
    "tkinter",
    "torch",
    "typer",
    "unittest",
    "uvicorn",
    "vite",
    "vitest",
    "vue",
    "webpack",
    "xlsxwriter",
    "yup",
    "zod",
    "zsh",
];

/// Whether a bare word of prose is distinctive.
pub(super) fn is_named(word: &str, previous: &str) -> bool {
    let option = word.starts_with("--") && word.len() > 4;
    let snake =
        word.trim_matches('_').contains('_') && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let chars = || word.chars();
    let code = word.len() >= 3
        && chars().any(|c| c.is_ascii_digit())
        && chars().any(|c| c.is_ascii_uppercase())
        && chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-' || c == '_')
        && word.starts_with(|c: char| c.is_ascii_uppercase());
    let hump = chars().zip(chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let chosen = matches!(
        previous.to_ascii_lowercase().as_str(),
        "use" | "using" | "with" | "via" | "prefer" | "call"
    );
    let parts = || word.split('-');
    let capital = |part: &str| part.starts_with(|c: char| c.is_ascii_uppercase());
    let nouns = ["header", "headers", "field", "tag", "label", "trailer"];
    let noun = nouns.iter().any(|noun| previous.eq_ignore_ascii_case(noun));
    let header = noun && parts().count() >= 2 && parts().all(capital);
    let scoped = word.starts_with('@')
        && word.len() > 4
        && word[1..].split_once('/').is_some_and(|(scope, name)| !scope.is_empty() && !name.is_empty());
    let lower = word.to_ascii_lowercase();
    let date =
        lower.contains("yyyy") && lower.contains("mm") && lower.chars().all(|c| "ymdhst.-/_:".contains(c));
    // `3e-4`
    let exponent = lower.split_once('e').is_some_and(|(number, power)| {
        let power = power.trim_start_matches(['-', '+']);
        let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
        digits(number) && digits(power)
    });
    header
        || date
        || exponent
        || scoped
        || option
        || snake
        || code
        || (is_file(word) && is_bare_file(word))
        || (hump && chosen && chars().all(char::is_alphanumeric))
}

/// Whether a bare word is a program that is chosen over another: "prefer printf over echo".
pub(super) fn is_choice(word: &str, previous: &str) -> bool {
    let chosen = ["use", "prefer", "using", "over", "of", "than", "not", "avoid", "with", "via"];
    (is_program_word(word) || LIBRARIES.binary_search(&word).is_ok())
        && chosen.iter().any(|verb| previous.eq_ignore_ascii_case(verb))
}

/// Whether a bare word is the name of a program, and not also a word of any sentence.
pub(super) fn is_program_word(word: &str) -> bool {
    let known = PROGRAMS.binary_search(&word).is_ok() || EVERYDAY.binary_search(&word).is_ok();
    known && word.len() >= 2 && ORDINARY.binary_search(&word).is_err()
}

/// Whether a bare word is a file's name rather than a product's or a choice: `a/b/c`, `Node.js`.
fn is_bare_file(word: &str) -> bool {
    let (stem, extension) = last_part(word).rsplit_once('.').unwrap_or_default();
    let product =
        extension == "js" && !word.contains('/') && stem.starts_with(|c: char| c.is_ascii_uppercase());
    let known = EXTENSIONS.binary_search(&extension.to_ascii_lowercase().as_str()).is_ok();
    !stem.is_empty() && known && !product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(ORDINARY.is_sorted() && LIBRARIES.is_sorted());
    }

    #[test]
    fn bare_words_are_named_by_their_form() {
        let check = |word: &str, previous: &str, expected: bool| {
            assert_eq!(is_named(word, previous), expected, "{word} after {previous}");
        };
        check("--dry-run", "", true);
        check("kiln_code", "", true);
        check("K07", "", true);
        check("kiln.toml", "", true);
        check("KilnLib", "use", true);
        check("KilnLib", "the", false);
        check("X-Kiln-Id", "header", true);
        check("Node.js", "", false);
        check("either/or/both", "", false);
        check("@kiln/fire", "", true);
        check("DD.MM.YYYY", "", true);
        check("3e-4", "", true);
        check("firing", "use", false);
    }
}
