// A link of "catchment web login" has its code behind "#", which browsers send to nobody.
// It is put into the form and taken out of the address.
"use strict";
function use() {
  const code = location.hash.slice(1);
  const form = document.getElementById("login");
  if (!form || !/^[\w-]{32}$/.test(code)) return; // another part of the page, such as its content
  history.replaceState(null, "", location.pathname + location.search);
  form.elements.code.value = code;
  form.requestSubmit();
}
use();
// Where this page is open already, a link to it loads nothing.
addEventListener("hashchange", use);
