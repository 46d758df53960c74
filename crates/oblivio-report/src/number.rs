//! Numbers as people read them.

/// Three significant digits and no more than four places; a dash for what is not a number.
pub(crate) fn short(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    let places = match size {
        _ if size == 0.0 => return "0".into(),
        _ if size >= 1e7 => return format!("{value:.2e}"),
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ if size >= 0.1 => 3,
        _ if size >= 5e-5 => 4,
        _ => {
            return if value < 0.0 {
                "> −0.0001"
            } else {
                "< 0.0001"
            }
            .into();
        }
    };
    minus(&format!("{value:.places$}"))
}

/// `13.4 %`, with a second place below one.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if !percent.is_finite() {
        return "–".into();
    }
    let places = usize::from(percent.abs() < 99.95) + usize::from(percent.abs() < 0.995);
    format!("{} %", minus(&format!("{percent:.places$}")))
}

/// `95 %`, as few places as it takes.
pub(crate) fn confidence(share: f64) -> String {
    format!("{} %", (1e6 * share).round() / 1e4)
}

/// A p-value to three places.
pub(crate) fn p_value(p: f64) -> String {
    match p {
        _ if !p.is_finite() => "–".into(),
        _ if p < 0.0005 => "< 0.001".into(),
        _ => format!("{p:.3}"),
    }
}

/// `12 345`, its thousands apart.
pub(crate) fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digits.len() > 4 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// The number rounded to six significant digits, for charts.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (0.004_321, "0.0043"),
            (0.123_45, "0.123"),
            (1.5, "1.50"),
            (-12.34, "−12.3"),
            (1234.5, "1234"),
            (1e-9, "< 0.0001"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
        assert_eq!(percent(0.134), "13.4 %");
        assert_eq!(percent(0.0056), "0.56 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(confidence(0.95), "95 %");
        assert_eq!(confidence(0.999), "99.9 %");
        assert_eq!(p_value(0.005), "0.005");
        assert_eq!(count(1234), "1234");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(rounded(0.123_456_789), 0.123_457);
    }
}
