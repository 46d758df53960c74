//! The shape of CSV text: every row as wide as the header, every quote closed.
//!
//! The decoder behind it counts records where a user counts lines, and reads a quote that is never closed as one
//! long value; this pass over the bytes gives the line instead.

use anyhow::{Result, bail};

#[derive(Clone, Copy, PartialEq)]
enum State {
    BetweenRows,
    FieldStart,
    Plain,
    Quoted,
    /// After a quote within quotes: the end of the field or half of an escaped quote.
    MaybeClosed,
}

/// Refuses rows that do not have `width` fields, and a quote that is never closed.
pub(super) fn check_shape(text: &[u8], delimiter: u8, width: usize) -> Result<()> {
    let mut state = State::BetweenRows;
    let (mut line, mut row_line, mut quote_line, mut fields) = (1, 1, 1, 1);
    let check = |line: usize, fields: usize| {
        if fields == width {
            return Ok(());
        }
        let noun = if fields == 1 { "field" } else { "fields" };
        bail!(
            "line {line} has {fields} {noun} but the header has {width}; give every row the same number of fields, \
             and quote values that contain {:?}",
            char::from(delimiter)
        )
    };
    for (position, &byte) in text.iter().enumerate() {
        let line_end = matches!(byte, b'\n' | b'\r');
        if state == State::BetweenRows && !line_end {
            (state, row_line, fields) = (State::FieldStart, line, 1);
        }
        state = match (state, byte) {
            (State::Quoted, b'"') => State::MaybeClosed,
            (State::Quoted, _) | (State::MaybeClosed, b'"') => State::Quoted,
            (State::FieldStart, b'"') => {
                quote_line = line;
                State::Quoted
            }
            (State::BetweenRows, _) => State::BetweenRows,
            _ if byte == delimiter => {
                fields += 1;
                State::FieldStart
            }
            _ if line_end => {
                check(row_line, fields)?;
                State::BetweenRows
            }
            _ => State::Plain,
        };
        if byte == b'\n' || (byte == b'\r' && text.get(position + 1) != Some(&b'\n')) {
            line += 1;
        }
    }
    match state {
        State::BetweenRows => Ok(()),
        State::Quoted => bail!("the quote opened on line {quote_line} is never closed; close it"),
        _ => check(row_line, fields),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        check_shape(text.as_bytes(), b',', 2)
            .unwrap_err()
            .to_string()
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
            check_shape(text.as_bytes(), b',', 2).unwrap();
        }
    }
}
