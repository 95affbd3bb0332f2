use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::failure::Failure;

/// Opens a file; `-` is standard input, and what ends in `.gz` is unpacked.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).map_err(|error| unread(path, error))?;
    Ok(if path.extension().is_some_and(|kind| kind == "gz") {
        Box::new(BufReader::new(MultiGzDecoder::new(BufReader::new(file))))
    } else {
        Box::new(BufReader::with_capacity(1 << 16, file))
    })
}

/// The text of a file, up to a number of bytes.
pub(super) fn text(path: &Path, most: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes).map_err(|error| unread(path, error))?;
    if bytes.len() as u64 > most {
        return Err(Failure::bad_input(format!("{} is larger than {most} bytes", path.display())));
    }
    String::from_utf8(bytes).map_err(|_| Failure::bad_input(format!("{} is not UTF-8", path.display())))
}

pub(super) fn unread(path: &Path, error: io::Error) -> Failure {
    Failure::BadInput {
        message: format!("cannot read {}", path.display()),
        hint: None,
        source: Some(error.into()),
        details: Vec::new(),
    }
}
