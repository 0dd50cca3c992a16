reportView(JSON.parse(document.getElementById("data").textContent));
