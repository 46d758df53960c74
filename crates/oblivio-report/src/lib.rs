//! An audit as people read it: in words, as CSV, and as one self-contained HTML page.
