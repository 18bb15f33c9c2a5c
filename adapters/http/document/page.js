// Filters operations, types and menu by words; "/" goes to the field. No server is called.
const find=document.getElementById("find"),count=document.getElementById("shown-count");
const ops=[...document.querySelectorAll("main .op")].map(o=>[o,o.textContent.toLowerCase()]);
const links=[...document.querySelectorAll("nav a[href^='#']")];
function filter(){const words=find.value.toLowerCase().split(/\s+/).filter(Boolean);let shown=0;const hidden=new Set();
for(const [o,text] of ops){const fits=words.every(w=>text.includes(w));o.classList.toggle("hide",!fits);shown+=fits;
if(!fits)for(const e of o.querySelectorAll("[id]"))hidden.add("#"+e.id)}
for(const a of links)a.classList.toggle("hide",hidden.has(a.getAttribute("href")));
for(const d of document.querySelectorAll("nav details details")){const some=
[...d.querySelectorAll("a")].some(a=>!a.classList.contains("hide"));
d.classList.toggle("hide",!some);d.open=words.length>0&&some}
for(const s of document.querySelectorAll("main section")){const own=[...s.querySelectorAll(".op")];
s.classList.toggle("hide",own.length>0&&own.every(o=>o.classList.contains("hide")))}
document.getElementById("intro")?.classList.toggle("hide",words.length>0);
count.textContent=words.length?shown+" of "+ops.length:""}
find.addEventListener("input",filter);
document.addEventListener("keydown",e=>{if(e.key==="/"&&document.activeElement!==find){e.preventDefault();find.focus()}});
document.addEventListener("click",e=>{if(!e.target.matches(".copy"))return;
navigator.clipboard.writeText(e.target.nextElementSibling.textContent).then(()=>{e.target.textContent="copied";
setTimeout(()=>e.target.textContent="copy",1200)})});
for(const b of document.querySelectorAll(".copy"))b.hidden=!navigator.clipboard;
for(const s of document.querySelectorAll(".base"))s.textContent=location.protocol.startsWith("http")?location.origin:"http://127.0.0.1:8080";
const menu=document.getElementById("menu"),phone=matchMedia("(max-width:50rem)");
function fold(){menu.open=!phone.matches}phone.addEventListener("change",fold);fold();
find.closest(".find").classList.remove("hide");
