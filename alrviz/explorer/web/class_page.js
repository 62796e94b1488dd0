// A class: its question above the picture, and the one answer of whoever reads this page. See class_page.py; `questions.js` stands before it.
const here = {round: null, field: null, vote: location.pathname.replace(/\/$/, "") + "/vote"};
$("state").dataset.gone = "This class is over, or there is none at this address. This page looks again by itself.";
document.body.classList.add("class");
$("measure").disabled = true;  // what the picture shows is the teacher's to choose
document.title = $("title").textContent = "Class";
function say(words, wrong = false) {
  $("sent").textContent = words;
  $("sent").classList.toggle("wrong", wrong);
}
/** What all are told of the class: another question brings its field, another state of the same one leaves it alone. */
async function atClass(of) {
  $("link").textContent = "";
  if (last < 0) $("told").textContent = "";  // there is no race to be told of
  const first = here.round === null, same = here.round === of.round;
  here.round = of.round;
  const own = first && of.round ? await mine() : {};
  if (here.round !== of.round) return;  // another came while this one asked
  $("waiting").hidden = of.round > 0;
  $("question").hidden = !of.round;
  if (!of.round) return;
  if (!same) {
    $("asked").innerHTML = of.text;  // this and the options: made by the server of what the teacher wrote
    here.field = questionField(of, own.answer ?? null, holds);
    $("answer").replaceChildren(...here.field.parts);
    here.sent = own.answer !== undefined && own.answer !== null;
    $("why").hidden = of.kind === "text";
    $("note").value = own.note ?? "";
  }
  $("fields").disabled = !of.open;
  $("send").textContent = here.sent ? "Change my answer" : "Send";
  holds();
  if (!of.open) say("The question is closed. " + (here.sent ? "Your answer is counted." : "You gave no answer."));
  else if (!same) say(here.sent ? "Your answer is counted; you may change it." : of.again ? "Asked again: what do you think now?" : "");
}
/** Let Send be pressed when there is an answer, and say why not before. */
function holds() { questionHolds(here.field, $("send"), $("reason")); }
async function mine() {
  try {
    const answer = await fetch(here.vote, {cache: "no-store"});
    return answer.ok ? await answer.json() : {};
  } catch (error) { return {}; }
}
async function send(event) {
  event.preventDefault();
  const round = here.round;
  if (here.field.missing()) return;
  const answer = here.field.answer();
  $("send").disabled = true;
  try {
    const body = JSON.stringify({round, answer, note: $("note").value});
    const told = await fetch(here.vote, {method: "POST", headers: {"Content-Type": "application/json"}, body});
    const {error} = await told.json();
    if (round !== here.round) return;
    if (!error) { here.sent = true; $("send").textContent = "Change my answer"; }
    const what = typeof answer === "number" ? `, ${answer},` : "";
    say(error ?? `Your answer${what} is counted; you may change it until the question is closed.`, Boolean(error));
  } catch (error) {
    say("The server does not answer: your answer is not counted yet. Send it again.", true);
  } finally { holds(); }
}
$("question").onsubmit = send;
