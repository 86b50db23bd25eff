// Code and tables that are wider than the page can be scrolled with the keyboard, too.
for (const part of document.querySelectorAll("pre code, .table-wrapper")) {
    if (part.scrollWidth > part.clientWidth) {
        part.tabIndex = 0;
    }
}
