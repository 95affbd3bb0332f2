import json, os, urllib.request
def post(path, body):
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + path, json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    return urllib.request.urlopen(request).read().decode()
said = [{"role": "user", "content": "Close the report.\n- reports: Closes reports with the agreed word. Use it for every report."}]
for turn in range(2):
    reply = json.loads(post("/chat/completions", {"model": "scripted", "messages": said, "tools": [{"type": "function", "function": {"name": "bash"}}]}))
    said.append(reply["choices"][0]["message"])
