//! The colours of a picture, for light and for dark.

use super::ColourScheme;

/// The style of each class of elements, apart from colours.
const SHAPES: &str = r#"
.W text{font-family:Inter,"Segoe UI","Helvetica Neue",Arial,system-ui,sans-serif;font-size:11px}
.W .code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:10.5px}
.W .heading{font-size:20px;font-weight:650}
.W .title{font-size:14px;font-weight:600}
.W .note{font-size:11.5px}
.W .event{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:11px;font-weight:600}
.W .mid{text-anchor:middle}
.W .box,.W .frame,.W .lane,.W .inner{stroke-width:1.25}
.W .line{fill:none;stroke-width:1.5;stroke-linejoin:round}
.W .approval .line{stroke-dasharray:7 4}
.W .interrupt .line{stroke-dasharray:9 3 2 3}
.W .fallback .line{stroke-dasharray:2 3.5;stroke-linecap:round}
.W .reference .box{stroke-dasharray:3 3}
.W .anywhere .box{stroke-dasharray:9 3 2 3}
.W .frame{stroke-dasharray:6 4}
.W .glyph{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.W .visited>.box{stroke-width:2}
.W .here>.box,.W .here>.frame{stroke-width:3;stroke-dasharray:none}
.W .taken .line{stroke-width:3}
"#;

/// The colours of one scheme.
struct Colours {
    page: &'static str,
    surface: &'static str,
    sunken: &'static str,
    border: &'static str,
    text: &'static str,
    muted: &'static str,
    edge: &'static str,
    chip: &'static str,
    change: &'static str,
    change_text: &'static str,
    success: &'static str,
    failure: &'static str,
    approval: &'static str,
    interrupt: &'static str,
    accent: &'static str,
    accent_text: &'static str,
}

const LIGHT: Colours = Colours {
    page: "#f8f9fb",
    surface: "#ffffff",
    sunken: "#eff1f5",
    border: "#b9c0cc",
    text: "#1b2130",
    muted: "#566074",
    edge: "#7d879a",
    chip: "#edf0f5",
    change: "#fdecd2",
    change_text: "#854a00",
    success: "#22803a",
    failure: "#c62828",
    approval: "#a85700",
    interrupt: "#7638c4",
    accent: "#3454d1",
    accent_text: "#ffffff",
};

const DARK: Colours = Colours {
    page: "#12151b",
    surface: "#1c212b",
    sunken: "#171b23",
    border: "#465062",
    text: "#e8ebf2",
    muted: "#a0aabb",
    edge: "#7f8ba0",
    chip: "#2a313d",
    change: "#46320f",
    change_text: "#ffcf8a",
    success: "#5fd07c",
    failure: "#ff8080",
    approval: "#ffb561",
    interrupt: "#c49bff",
    accent: "#8fa6ff",
    accent_text: "#0f1420",
};

impl ColourScheme {
    /// Returns the class of the whole picture, which keeps its style apart from other styles.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Viewer => "interlock-graph",
            Self::Light => "interlock-graph-light",
            Self::Dark => "interlock-graph-dark",
        }
    }
}

/// Returns the style sheet.
pub(super) fn style(scheme: ColourScheme) -> String {
    let mut css = SHAPES.to_owned();
    match scheme {
        ColourScheme::Light => css.push_str(&rules(&LIGHT)),
        ColourScheme::Dark => css.push_str(&rules(&DARK)),
        ColourScheme::Viewer => {
            css.push_str(&rules(&LIGHT));
            css.push_str("@media (prefers-color-scheme:dark){\n");
            css.push_str(rules(&DARK).trim_start());
            css.push_str("}\n");
        }
    }
    css.replace(".W", &format!(".{}", scheme.class()))
}

/// Returns the rules that name a colour.
fn rules(colours: &Colours) -> String {
    let Colours {
        page,
        surface,
        sunken,
        border,
        text,
        muted,
        edge,
        chip,
        change,
        change_text,
        success,
        failure,
        approval,
        interrupt,
        accent,
        accent_text,
    } = colours;
    let mut css = format!(
        "\n.W .page,.W .behind{{fill:{page}}}\n\
         .W text{{fill:{muted}}}\n\
         .W .heading,.W .title,.W .event{{fill:{text}}}\n\
         .W .box{{fill:{surface};stroke:{border}}}\n\
         .W .inner{{fill:none;stroke:{border}}}\n\
         .W .frame{{fill:{sunken};stroke:{border}}}\n\
         .W .lane{{fill:{page};stroke:{border}}}\n\
         .W .pill{{fill:{surface};stroke:{border}}}\n\
         .W .chip{{fill:{chip}}}\n\
         .W .change{{fill:{change}}}\n\
         .W .changes{{fill:{change_text}}}\n\
         .W .dot,.W .arrow{{fill:{edge};stroke:none}}\n\
         .W .line{{stroke:{edge}}}\n\
         .W .glyph{{stroke:{muted}}}\n\
         .W .asks{{fill:{approval}}}\n\
         .W .asks-glyph{{stroke:{approval}}}\n"
    );
    for (class, colour) in [
        ("approval", approval),
        ("interrupt", interrupt),
        ("taken", accent),
    ] {
        css.push_str(&format!(
            ".W .{class} .line{{stroke:{colour}}}\n.W .{class} .arrow{{fill:{colour}}}\n"
        ));
    }
    for (class, colour) in [
        ("anywhere", interrupt),
        ("visited", accent),
        ("success", success),
        ("failure", failure),
        ("here", accent),
    ] {
        css.push_str(&format!(
            ".W .{class}>.box,.W .{class}>.inner,.W .{class}>.frame,.W .{class}>.glyph{{stroke:{colour}}}\n"
        ));
    }
    css.push_str(&format!(
        ".W .flag{{fill:{accent}}}\n\
         .W .flag-parked{{fill:{approval}}}\n\
         .W .flag-interrupted{{fill:{interrupt}}}\n\
         .W .flag-text{{fill:{accent_text};font-weight:600}}\n"
    ));
    css
}
