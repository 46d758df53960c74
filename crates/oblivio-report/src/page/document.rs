//! One file, read by a browser without a network.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// Nothing is fetched: not even a page that was tampered with could send what it shows anywhere.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// What a page is made of.
pub(super) struct Document<'a> {
    pub title: &'a str,
    /// What the first link of the page skips to.
    pub skip: &'a str,
    pub header: Markup,
    pub main: Markup,
    /// What the charts read: JSON that may stand in a script element.
    pub data: &'a dyn Fn() -> String,
}

impl Document<'_> {
    /// The whole page; without charts it has no script.
    pub fn html(&self, charts: &str) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#main" { (self.skip) }
                    (self.header)
                    main #main tabindex="-1" { (self.main) }
                    footer { p { "One file, complete without a network: it holds counts, shares and means, and no row of the table." } }
                    @if !charts.is_empty() {
                        script type="application/json" id="audit" { (PreEscaped((self.data)())) }
                        script { (PreEscaped(charts)) }
                    }
                }
            }
        };
        page.into_string()
    }
}
