//! What a figure shows; `drawing` puts it on paper.

/// Panels side by side under one title.
pub(super) struct Figure {
    pub(super) title: String,
    /// A line under the title: what is shown, with its units.
    pub(super) caption: String,
    pub(super) panels: Vec<Panel>,
}

/// One pair of axes.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    pub(super) legend: Legend,
}

/// An axis; its range is that of the data unless it is given.
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) scale: Scale,
    pub(super) range: Option<(f64, f64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Log,
}

/// The corner of a panel that is free for its legend.
#[derive(Clone, Copy)]
pub(super) enum Legend {
    UpperRight,
    UpperLeft,
    LowerLeft,
    MiddleRight,
    None,
}

/// Things of one colour and meaning.
pub(super) struct Series {
    /// Its line in the legend; series without a name have none.
    pub(super) name: String,
    pub(super) colour: Colour,
    pub(super) mark: Mark,
}

pub(super) enum Mark {
    Line(Vec<(f64, f64)>),
    Dashed(Vec<(f64, f64)>),
    /// Small and half transparent, for many.
    Cloud(Vec<(f64, f64)>),
    /// Points with bars from low to high.
    Bars(Shape, Vec<Bar>),
}

#[derive(Clone, Copy)]
pub(super) struct Bar {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

#[derive(Clone, Copy)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

/// The colours of Okabe and Ito, which colour-blind readers can tell apart.
#[derive(Clone, Copy)]
pub(super) enum Colour {
    Black,
    Grey,
    Orange,
    Sky,
    Green,
    Blue,
    Vermilion,
}

impl Colour {
    pub(super) fn rgb(self) -> (u8, u8, u8) {
        match self {
            Self::Black => (0, 0, 0),
            Self::Grey => (120, 120, 120),
            Self::Orange => (230, 159, 0),
            Self::Sky => (86, 180, 233),
            Self::Green => (0, 158, 115),
            Self::Blue => (0, 114, 178),
            Self::Vermilion => (213, 94, 0),
        }
    }
}

impl Axis {
    pub(super) fn linear(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            scale: Scale::Linear,
            range: None,
        }
    }

    pub(super) fn log(label: &str) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label)
        }
    }

    pub(super) fn between(self, low: f64, high: f64) -> Self {
        Self {
            range: Some((low, high)),
            ..self
        }
    }
}

impl Series {
    pub(super) fn new(name: &str, colour: Colour, mark: Mark) -> Self {
        Self {
            name: name.to_owned(),
            colour,
            mark,
        }
    }
}

impl Bar {
    /// The value and so much to either side.
    pub(super) fn around(x: f64, y: f64, half: f64) -> Self {
        Self {
            x,
            y,
            low: y - half,
            high: y + half,
        }
    }
}

impl Mark {
    /// The corners of everything drawn.
    pub(super) fn extent(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Line(points) | Self::Dashed(points) | Self::Cloud(points) => points.clone(),
            Self::Bars(_, bars) => bars
                .iter()
                .flat_map(|bar| [(bar.x, bar.y), (bar.x, bar.low), (bar.x, bar.high)])
                .collect(),
        }
    }
}
