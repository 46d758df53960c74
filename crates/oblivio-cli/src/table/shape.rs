//! The shape of CSV text: every row as wide as the header, every quote closed.
//!
//! The decoder behind it counts records where a user counts lines, and reads a quote that is never closed as one
//! long value; this pass over the bytes gives the line instead.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use anyhow::{Result, bail};

/// A row longer than this is a mistake, such as a quote that is closed by a later one.
const LONGEST_ROW: usize = 64 << 20;

#[derive(Clone, Copy, PartialEq)]
enum State {
    BetweenRows,
    FieldStart,
    Plain,
    Quoted,
    /// After a quote within quotes: the end of the field or half of an escaped quote.
    MaybeClosed,
}

/// Refuses rows that do not have the width of the header, and a quote that is never closed.
pub(super) struct Shape {
    delimiter: u8,
    /// Fields of every row; before the header is read, nobody knows.
    width: Option<usize>,
    state: State,
    line: usize,
    row_line: usize,
    quote_line: usize,
    fields: usize,
    row_bytes: usize,
    last: u8,
}

impl Shape {
    pub(super) fn new(delimiter: u8, width: Option<usize>) -> Self {
        Self {
            delimiter,
            width,
            state: State::BetweenRows,
            line: 1,
            row_line: 1,
            quote_line: 1,
            fields: 1,
            row_bytes: 0,
            last: 0,
        }
    }

    /// The line that the next byte is on.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Looks at the next piece of the text.
    pub(super) fn feed(&mut self, text: &[u8]) -> Result<()> {
        let delimiter = self.delimiter;
        self.row_bytes += text.len();
        for (position, &byte) in text.iter().enumerate() {
            let line_end = matches!(byte, b'\n' | b'\r');
            if self.state == State::BetweenRows && !line_end {
                self.state = State::FieldStart;
                (self.row_line, self.fields) = (self.line, 1);
                self.row_bytes = text.len() - position;
            }
            self.state = match (self.state, byte) {
                (State::Quoted, b'"') => State::MaybeClosed,
                (State::Quoted, _) | (State::MaybeClosed, b'"') => State::Quoted,
                (State::FieldStart, b'"') => {
                    self.quote_line = self.line;
                    State::Quoted
                }
                (State::BetweenRows, _) => State::BetweenRows,
                _ if byte == delimiter => {
                    self.fields += 1;
                    State::FieldStart
                }
                _ if line_end => {
                    self.check_width()?;
                    State::BetweenRows
                }
                _ => State::Plain,
            };
            // Both characters of a pair end one line.
            if byte == b'\r' || (byte == b'\n' && self.last != b'\r') {
                self.line += 1;
            }
            self.last = byte;
        }
        if self.state != State::BetweenRows && self.row_bytes > LONGEST_ROW {
            bail!(
                "the row that begins on line {} is longer than {} MB; close its quote, or shorten it",
                self.row_line,
                LONGEST_ROW >> 20
            );
        }
        Ok(())
    }

    /// Looks at what the text ends with.
    pub(super) fn finish(&self) -> Result<()> {
        match self.state {
            State::BetweenRows => Ok(()),
            State::Quoted => bail!(
                "the quote opened on line {} is never closed; close it",
                self.quote_line
            ),
            _ => self.check_width(),
        }
    }

    fn check_width(&self) -> Result<()> {
        let (fields, line) = (self.fields, self.row_line);
        let Some(width) = self.width.filter(|&width| width != fields) else {
            return Ok(());
        };
        let noun = if fields == 1 { "field" } else { "fields" };
        bail!(
            "line {line} has {fields} {noun} but the header has {width}; give every row the same number of fields, \
             and quote values that contain {:?}",
            char::from(self.delimiter)
        )
    }
}

/// Text on its way to a decoder, which gets valid UTF-8 of the right shape and no more.
pub(super) struct Checked<R> {
    from: R,
    shape: Shape,
    /// Bytes read; those in `ready` are checked and not yet consumed.
    bytes: Vec<u8>,
    ready: Range<usize>,
    ended: bool,
    /// What is wrong with the text, if that is why reading failed.
    problem: Option<anyhow::Error>,
}

impl<R: Read> Checked<R> {
    pub(super) fn new(from: R, shape: Shape) -> Self {
        Self {
            from,
            shape,
            bytes: Vec::new(),
            ready: 0..0,
            ended: false,
            problem: None,
        }
    }

    /// What is wrong with the text, in place of what a decoder made of it.
    pub(super) fn problem(&mut self) -> Option<anyhow::Error> {
        self.problem.take()
    }

    /// Makes the next bytes ready.
    fn advance(&mut self) -> io::Result<()> {
        const CHUNK: usize = 1 << 16;
        // Perhaps the beginning of a character.
        self.bytes.drain(..self.ready.end);
        self.ready = 0..0;
        let kept = self.bytes.len();
        self.bytes.resize(kept + CHUNK, 0);
        let added = self.from.read(&mut self.bytes[kept..])?;
        self.bytes.truncate(kept + added);
        self.ended = added == 0;
        let checked = self.check();
        self.ready.end = checked.map_err(|problem| {
            self.problem = Some(problem);
            io::Error::other("the text is not as it should be")
        })?;
        Ok(())
    }

    fn check(&mut self) -> Result<usize> {
        let utf8 = std::str::from_utf8(&self.bytes);
        let valid = utf8.map_or_else(|error| error.valid_up_to(), str::len);
        let broken = utf8.is_err_and(|error| self.ended || error.error_len().is_some());
        self.shape.feed(&self.bytes[..valid])?;
        if broken {
            let line = self.shape.line();
            bail!("line {line} is not valid UTF-8; save the file as UTF-8");
        }
        if self.ended {
            self.shape.finish()?;
        }
        Ok(valid)
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Checked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        // A piece of a character is not yet anything, nor the end.
        while self.ready.is_empty() && !self.ended {
            self.advance()?;
        }
        Ok(&self.bytes[self.ready.clone()])
    }

    fn consume(&mut self, count: usize) {
        self.ready.start += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fed whole and byte by byte.
    fn check_shape(text: &[u8]) -> Result<()> {
        let check = |size: usize| {
            let mut shape = Shape::new(b',', Some(2));
            let mut pieces = text.chunks(size);
            pieces.try_for_each(|piece| shape.feed(piece))?;
            shape.finish()
        };
        let (whole, pieces) = (check(text.len()), check(1));
        let message = |result: &Result<()>| result.as_ref().err().map(ToString::to_string);
        assert_eq!(message(&whole), message(&pieces));
        whole
    }

    fn problem(text: &str) -> String {
        check_shape(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn ragged_rows_are_found_by_line() {
        assert_eq!(
            problem("a,b\n\n\"x\ny\",2\n1,2,3\n"),
            "line 5 has 3 fields but the header has 2; give every row the same number of fields, \
             and quote values that contain ','"
        );
        assert!(problem("a,b\r\n1,2\r\n3").starts_with("line 3 has 1 field "));
        assert!(problem("a,b\r1,2\r3\r").starts_with("line 3 has 1 field "));
    }

    #[test]
    fn an_open_quote_is_found_by_line() {
        assert_eq!(
            problem("a,b\n1,\"2\n3,4\n"),
            "the quote opened on line 2 is never closed; close it"
        );
    }

    #[test]
    fn quotes_blank_lines_and_a_last_empty_field_are_fine() {
        for text in [
            "a,b\n\"x \"\"y\"\", z\",\"\"\n",
            "a,b\n5\" pipe,x\n",
            "\n\na,b\n\n1,\n2,",
        ] {
            check_shape(text.as_bytes()).unwrap();
        }
    }

    /// One byte at a time, so that every character and line end is cut somewhere.
    struct Slow<'t>(&'t [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn checked_text_is_the_text() {
        let text = "a,b\r\né,\"ü\n∞\"\n".repeat(10_000);
        // Each read makes room for a whole chunk, so single bytes take a short text and chunks a text of several.
        let beginning = &text[..text.len() / 20];
        let mut slow = Checked::new(Slow(beginning.as_bytes()), Shape::new(b',', Some(2)));
        let mut found = String::new();
        slow.read_to_string(&mut found).unwrap();
        assert!(found == beginning);
        let mut checked = Checked::new(text.as_bytes(), Shape::new(b',', Some(2)));
        found.clear();
        checked.read_to_string(&mut found).unwrap();
        assert!(found == text);
        for (end, problem) in [
            (&b"1,\xc3"[..], "line 30001 is not valid UTF-8"),
            (b"1,\xe9\n2", "line 30001 is not valid UTF-8"),
            (b"1,2\n3", "line 30002 has 1 field "),
        ] {
            let text = [text.as_bytes(), end].concat();
            let mut checked = Checked::new(&text[..], Shape::new(b',', Some(2)));
            checked.read_to_end(&mut Vec::new()).unwrap_err();
            let found = checked.problem().unwrap().to_string();
            assert!(found.starts_with(problem), "{found}");
        }
    }

    #[test]
    fn a_row_without_end_is_refused_before_it_fills_the_memory() {
        let text = io::repeat(b'x').take(10 * LONGEST_ROW as u64);
        let mut checked = Checked::new((&b"a,b\n1,\""[..]).chain(text), Shape::new(b',', None));
        io::copy(&mut checked, &mut io::sink()).unwrap_err();
        assert_eq!(
            checked.problem().unwrap().to_string(),
            "the row that begins on line 2 is longer than 64 MB; close its quote, or shorten it"
        );
    }
}
