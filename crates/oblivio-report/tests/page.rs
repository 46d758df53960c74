//! The page holds whatever the audit holds, as text, and asks no network for anything.
#![allow(clippy::unwrap_used)]

mod sample;

use oblivio_audit::Audit;
use oblivio_report::{FrontierPoint, HAS_CHARTS, Page};

const LARGEST: usize = 1_500_000;

fn html(audit: &Audit) -> String {
    page(audit).html()
}

fn page(audit: &Audit) -> Page<'_> {
    Page {
        audit,
        title: "scores.csv",
        facts: &[],
        frontier: &[],
        bounds: None,
    }
}

/// What a browser reads as markup: all but the styles and scripts.
fn markup(html: &str) -> String {
    let mut rest = html;
    let mut markup = String::new();
    while let Some(start) = ["<script", "<style"]
        .iter()
        .filter_map(|tag| rest.find(tag))
        .min()
    {
        markup.push_str(&rest[..start]);
        let end = rest[start..].find("</s").unwrap();
        rest = &rest[start + end + 4..];
    }
    markup + rest
}

#[test]
fn every_kind_of_audit_makes_a_page_of_bounded_size() {
    let audits = [
        sample::full(),
        sample::score(),
        sample::label(),
        sample::features(),
        sample::many_cells(300),
        sample::many_cells(3000),
        sample::named(&"long".repeat(2500)),
        sample::named(""),
        sample::odd(),
    ];
    for audit in &audits {
        let html = html(audit);
        assert!(html.len() < LARGEST, "{} bytes", html.len());
        assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\">"));
        assert_eq!(html.contains("id=\"audit\""), HAS_CHARTS);
    }
}

#[test]
fn nothing_is_fetched() {
    let markup = markup(&html(&sample::full()));
    assert!(markup.contains("default-src 'none'"));
    for fetching in [
        "http://", "https://", " src=", "<link", "<img", "<iframe", "@import", "url(",
    ] {
        assert!(!markup.contains(fetching), "{fetching}");
    }
    assert!(!html(&sample::full())[..50_000].contains("url("));
}

#[test]
fn hostile_names_are_text() {
    let names = [
        "<script>alert(1)</script>",
        "</script><img src=x onerror=alert(1)>",
        "\" onmouseover=\"alert(1)",
        "'; alert(1); '",
        "&lt;b&gt;",
        "<!--",
        "a.b[0]\\['c'] \u{2028} datum",
        "שם",
    ];
    for name in names {
        let audit = sample::named(name);
        let html = html(&audit);
        let markup = markup(&html);
        assert!(
            !markup.contains("<script>alert") && !markup.contains("<img"),
            "{name}"
        );
        assert!(!markup.contains("\" onmouseover=\""), "{name}");
        assert!(!markup.contains("<!--"), "{name}");
        assert_eq!(
            html.matches("<script").count(),
            if HAS_CHARTS { 2 } else { 0 },
            "{name}"
        );
        let compact = page(&audit).compact();
        assert!(
            !compact.contains("<script") && !compact.contains("<img"),
            "{name}"
        );
    }
    let html = html(&sample::named("<script>alert(1)</script>"));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn titles_facts_and_models_are_text() {
    let audit = sample::score();
    let hostile = "<script>alert(1)</script>";
    let facts = [(hostile.to_owned(), hostile.to_owned())];
    let frontier = [FrontierPoint {
        name: hostile.into(),
        error: 0.1,
        dependence: f64::NAN,
        chosen: true,
    }];
    let page = Page {
        audit: &audit,
        title: hostile,
        facts: &facts,
        frontier: &frontier,
        bounds: None,
    };
    let html = page.html();
    assert!(!html.contains(hostile));
    assert!(html.contains("Error against dependence"));
}

#[test]
fn sections_are_there_only_if_there_is_something_to_show() {
    let full = html(&sample::full());
    for id in [
        "distributions",
        "means",
        "rates",
        "measures",
        "features",
        "cells",
        "facts",
        "promises",
    ] {
        assert!(full.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    assert!(!full.contains("<section id=\"frontier\""));
    let features = html(&sample::features());
    for id in ["distributions", "means", "rates", "frontier"] {
        assert!(!features.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

#[test]
fn large_cells_are_drawn_and_all_are_listed() {
    let html = html(&sample::many_cells(300));
    assert!(html.contains("Charts show the 24 largest cells; this table shows all."));
    for at in 0..300 {
        assert!(html.contains(&format!("occupation={at}<")), "{at}");
    }
    assert!(html.contains("small: its numbers say little"));
}

#[test]
fn small_and_detectable_are_words_not_colours() {
    let html = html(&sample::full());
    assert!(html.contains("▲"));
    assert!(html.contains(">● </span>yes"));
    assert!(html.contains(">○ </span>no"));
}

#[test]
fn the_compact_form_needs_no_script_and_styles_only_itself() {
    let compact = page(&sample::full()).compact();
    assert!(!compact.contains("<script"));
    assert!(compact.contains("class=\"oblivio-audit\""));
    let style = compact
        .split("<style>")
        .nth(1)
        .unwrap()
        .split("</style>")
        .next()
        .unwrap();
    let rules = style.lines().filter(|line| line.contains('{'));
    for rule in rules {
        assert!(
            rule.split('{')
                .next()
                .unwrap()
                .split(',')
                .all(|part| part.trim().starts_with(".oblivio-audit"))
        );
    }
    assert!(compact.len() < 40_000);
}

#[test]
fn what_is_not_promised_is_said_in_the_words_of_the_house() {
    let html = markup(&html(&sample::full())).to_lowercase();
    assert!(html.contains("not independence."));
    assert!(html.contains("0.06 above its level under independence"));
    for word in ["debias", "guarantee", "anonymised", "fair model"] {
        assert!(!html.contains(word), "{word}");
    }
}
