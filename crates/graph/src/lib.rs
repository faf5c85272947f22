//! A machine as a picture: Mermaid, Graphviz, or an SVG drawn here.
//!
//! Pure: the same machine and the same run give the same bytes. Judges
//! nothing, and does not know which format a workflow was written in.

mod describe;
mod dot;
mod graph;
mod lanes;
mod layout;
mod marks;
mod mermaid;
mod names;
mod plot;
mod svg;
mod view;

pub use graph::Graph;
pub use marks::Trace;
pub use svg::ColourScheme;
pub use view::View;
