//! The tokens of a text.

/// Tokens in a row that the table counts at most.
pub const LONGEST: usize = 3;

/// The tokens of a text, in lower case: runs of letters, digits and `_`; numbers with their
/// decimals and percent sign, without thousands separators; options with their dashes.
pub fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let end = token_end(&chars, at);
        if end == at {
            at += 1;
            continue;
        }
        let token: String = chars[at..end].iter().collect();
        let token = token.to_lowercase();
        let is_number = token.starts_with(|c: char| c.is_ascii_digit());
        found.push(if is_number { token.replace(',', "") } else { token });
        at = end;
    }
    found
}

/// The end of the token that begins at `at`; `at` itself where none does.
fn token_end(chars: &[char], at: usize) -> usize {
    let word = |at: usize| chars.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let run = |mut at: usize| {
        while word(at) {
            at += 1;
        }
        at
    };
    if chars[at] == '-' {
        let dashes = 1 + usize::from(chars.get(at + 1) == Some(&'-'));
        let opens = at == 0 || !(word(at - 1) || chars[at - 1] == '-');
        if !opens || !chars.get(at + dashes).is_some_and(char::is_ascii_alphabetic) {
            return at;
        }
        let mut end = run(at + dashes);
        while chars.get(end) == Some(&'-') && word(end + 1) {
            end = run(end + 1);
        }
        return end;
    }
    let mut end = run(at);
    if digit(at) && chars[at..end].iter().all(char::is_ascii_digit) {
        while matches!(chars.get(end), Some('.' | ',')) && digit(end + 1) {
            end += 1;
            while digit(end) {
                end += 1;
            }
        }
        end += usize::from(chars.get(end) == Some(&'%'));
    }
    end
}

/// The hashes of a text's runs of `length` tokens.
pub fn hashes(tokens: &[String], length: usize) -> impl Iterator<Item = u64> + '_ {
    tokens.windows(length).map(hash)
}

/// The same in every process and version: tables are compared by it (FNV-1a, and a last step of
/// `SplitMix64`, since the table keeps the upper bits).
fn hash(tokens: &[String]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for token in tokens {
        token.bytes().for_each(&mut add);
        add(0);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_words_numbers_and_options() {
        let check = |text: &str, expected: &[&str]| assert_eq!(tokens(text), expected, "{text}");
        check("git rebase --onto main -i", &["git", "rebase", "--onto", "main", "-i"]);
        check("at most 1,732.50 or 15%", &["at", "most", "1732.50", "or", "15%"]);
        check("if __name__ == \"__main__\":", &["if", "__name__", "__main__"]);
        check("re-read a--b - c", &["re", "read", "a", "b", "c"]);
        check("`--dry-run=client` v1.2", &["--dry-run", "client", "v1", "2"]);
        check("", &[]);
    }
}
