// A link of "catchment web login" has its code behind "#", which browsers send to nobody.
// It is put into the form and taken out of the address.
"use strict";
const code = location.hash.slice(1);
const field = document.getElementById("code");
if (code && field) {
  history.replaceState(null, "", location.pathname + location.search);
  field.value = code;
  document.getElementById("login").requestSubmit();
}
