"""Colours of categories and domains, the same in maps, charts and on the page."""

#: From the best category to the worst; distinguishable with any colour vision, and by lightness.
CATEGORY_COLOURS = ("#00429D", "#4771B2", "#73A2C6", "#D9D4BA", "#F4A77B", "#DB5C4A", "#93003A")

#: Of the domains, as Okabe and Ito's.
DOMAIN_COLOURS = {
    "Air": "#56B4E9",
    "Sociodemographic": "#CC79A7",
    "Built": "#E69F00",
    "Land": "#009E73",
    "Water": "#0072B2",
}

#: Of counties without a value.
EMPTY = "#ECECEC"
