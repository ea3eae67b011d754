<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
  <context>
    <name>tokentide</name>
    <message>
      <source> </source>
      <translation> </translation>
    </message>
    <message>
      <source> ({reason})</source>
      <translation>（{reason}）</translation>
    </message>
    <message>
      <source> and </source>
      <translation>和</translation>
    </message>
    <message>
      <source>, </source>
      <translation>、</translation>
    </message>
    <message>
      <source>.</source>
      <translation>。</translation>
    </message>
    <message>
      <source>1 earlier message ({tokens} tokens) was left out of this answer</source>
      <translation>这个回答没有看到较早的 1 条消息（{tokens} 个 token）</translation>
    </message>
    <message>
      <source>16-bit</source>
      <translation>16 位</translation>
    </message>
    <message>
      <source>16-bit (usual)</source>
      <translation>16 位（常用）</translation>
    </message>
    <message>
      <source>A .gguf file…</source>
      <translation>.gguf 文件…</translation>
    </message>
    <message>
      <source>A KV cache of {n} MiB</source>
      <translation>{n} MiB 的 KV 缓存</translation>
    </message>
    <message>
      <source>A chat of {limit} tokens, the most there is room for, takes {size}.</source>
      <translation>最多容得下 {limit} 个 token 的对话，要占 {size}。</translation>
    </message>
    <message>
      <source>A context of up to {n} tokens fits.</source>
      <translation>上下文不超过 {n} 个 token 时够用。</translation>
    </message>
    <message>
      <source>A file for Perfetto and for Chrome's tracing page.</source>
      <translation>供 Perfetto 和 Chrome 跟踪页面打开的文件。</translation>
    </message>
    <message>
      <source>A folder with .safetensors files…</source>
      <translation>包含 .safetensors 文件的文件夹…</translation>
    </message>
    <message>
      <source>A narrower cache</source>
      <translation>更窄的缓存</translation>
    </message>
    <message>
      <source>A prompt of {n} tokens: {ms} ms</source>
      <translation>{n} 个 token 的提示：{ms} ms</translation>
    </message>
    <message>
      <source>A quieter host: pause other virtual machines on it, or give this one processors of its own</source>
      <translation>换更空闲的宿主机：暂停其上的其他虚拟机，或为本虚拟机分配独占的处理器</translation>
    </message>
    <message>
      <source>A small model…</source>
      <translation>小模型…</translation>
    </message>
    <message>
      <source>A token takes {narrow_bytes} of the cache in place of {wide_bytes}.</source>
      <translation>每个 token 占用缓存 {narrow_bytes}，而不是 {wide_bytes}。</translation>
    </message>
    <message>
      <source>A token with {n} before it: {ms} ms</source>
      <translation>前面有 {n} 个 token 时，每个 token {ms} ms</translation>
    </message>
    <message>
      <source>About the model</source>
      <translation>关于模型</translation>
    </message>
    <message>
      <source>Access token</source>
      <translation>访问令牌</translation>
    </message>
    <message>
      <source>Activations, buffers, the window's pages and the allocator's reserve.</source>
      <translation>激活值、缓冲区、窗口页面和内存分配器的预留。</translation>
    </message>
    <message>
      <source>Add chats from a file</source>
      <translation>从文件添加对话</translation>
    </message>
    <message>
      <source>Add chats from a file…</source>
      <translation>从文件添加对话…</translation>
    </message>
    <message>
      <source>Add folder…</source>
      <translation>添加文件夹…</translation>
    </message>
    <message>
      <source>Added ones, one a line.</source>
      <translation>添加的文件夹，每行一个。</translation>
    </message>
    <message>
      <source>Address of the hub</source>
      <translation>仓库地址</translation>
    </message>
    <message>
      <source>All</source>
      <translation>全部</translation>
    </message>
    <message>
      <source>All files (*)</source>
      <translation>所有文件 (*)</translation>
    </message>
    <message>
      <source>All models…</source>
      <translation>全部模型…</translation>
    </message>
    <message>
      <source>All of it is calculated; a thorough run tries some of it.</source>
      <translation>全部为计算值；细致的运行会实际尝试其中一些。</translation>
    </message>
    <message>
      <source>All physical cores</source>
      <translation>全部物理核心</translation>
    </message>
    <message>
      <source>All settings are at their defaults.</source>
      <translation>所有设置已恢复默认值。</translation>
    </message>
    <message>
      <source>All that is free</source>
      <translation>全部可用显存</translation>
    </message>
    <message>
      <source>An answer ends where it would write one of these; one a line.</source>
      <translation>回答将要写出其中任意一个时即停止；每行一个。</translation>
    </message>
    <message>
      <source>An answer without words</source>
      <translation>没有文字的回答</translation>
    </message>
    <message>
      <source>Another model read the chat before: {lost} tokens were read anew.</source>
      <translation>此前读这段对话的是另一个模型：{lost} 个 token 重新读取。</translation>
    </message>
    <message>
      <source>Another program is served. The point under way will be measured again.</source>
      <translation>正在为其他程序提供服务。当前这一点稍后会重新测量。</translation>
    </message>
    <message>
      <source>Answer</source>
      <translation>回答</translation>
    </message>
    <message>
      <source>Answer format</source>
      <translation>回答格式</translation>
    </message>
    <message>
      <source>Answers at once</source>
      <translation>同时回答</translation>
    </message>
    <message>
      <source>Answers stay free text.</source>
      <translation>回答仍为自由文本。</translation>
    </message>
    <message>
      <source>Answers to random text soon repeat themselves, and guessing is at its best there. With a draft chosen in the settings, real texts are measured.</source>
      <translation>对随机文本的回答很快会自我重复，此时猜测最为有利。在设置中选择草稿后，会用真实文本测量。</translation>
    </message>
    <message>
      <source>Answers with room at once</source>
      <translation>可同时容纳的回答数</translation>
    </message>
    <message>
      <source>Answers with tokens guessed ahead and without, on two kinds of text.</source>
      <translation>在两种文本上，用与不用提前猜测 token 的回答。</translation>
    </message>
    <message>
      <source>Appearance</source>
      <translation>外观</translation>
    </message>
    <message>
      <source>Apply</source>
      <translation>应用</translation>
    </message>
    <message>
      <source>Apply: {name}</source>
      <translation>应用：{name}</translation>
    </message>
    <message>
      <source>Architecture</source>
      <translation>架构</translation>
    </message>
    <message>
      <source>Arithmetic</source>
      <translation>算力</translation>
    </message>
    <message>
      <source>Arrived whole, checksum right</source>
      <translation>下载完成，校验通过</translation>
    </message>
    <message>
      <source>As the system</source>
      <translation>跟随系统</translation>
    </message>
    <message>
      <source>Ask something: the tokens of the answer are shown here.</source>
      <translation>提个问题：回答的 token 会显示在这里。</translation>
    </message>
    <message>
      <source>Ask something: where an answer's time went is shown here.</source>
      <translation>提个问题：这里会显示回答的时间花在了哪里。</translation>
    </message>
    <message>
      <source>Ask something: where its stages lie is shown here.</source>
      <translation>提一个问题：它的各个阶段落在哪里，会显示在这里。</translation>
    </message>
    <message>
      <source>Asking the hub…</source>
      <translation>正在查询仓库…</translation>
    </message>
    <message>
      <source>Attention</source>
      <translation>注意力</translation>
    </message>
    <message>
      <source>Automatic</source>
      <translation>自动</translation>
    </message>
    <message>
      <source>BF16 (as trained)</source>
      <translation>BF16（训练时的精度）</translation>
    </message>
    <message>
      <source>Back to the chat</source>
      <translation>返回对话</translation>
    </message>
    <message>
      <source>Barely fits</source>
      <translation>勉强够用</translation>
    </message>
    <message>
      <source>Beside another answer</source>
      <translation>与另一个回答对比</translation>
    </message>
    <message>
      <source>Better INT4 weights are made first: {time}, once. You can cancel it.</source>
      <translation>加载前先生成更好的 INT4 权重：{time}，只需一次，可随时取消。</translation>
    </message>
    <message>
      <source>Between tokens (ITL)</source>
      <translation>token 间隔（ITL）</translation>
    </message>
    <message>
      <source>Blocks of the cache that hold something.</source>
      <translation>缓存中存有内容的块。</translation>
    </message>
    <message>
      <source>Both were written equally fast, within 5%.</source>
      <translation>两者书写速度相差不到 5%。</translation>
    </message>
    <message>
      <source>Both: {kind}.</source>
      <translation>两者都是：{kind}。</translation>
    </message>
    <message>
      <source>By kind of layers, this chat's last answer</source>
      <translation>按层的种类，本对话的最近一次回答</translation>
    </message>
    <message>
      <source>By name</source>
      <translation>按名称</translation>
    </message>
    <message>
      <source>Bytes read</source>
      <translation>读取量</translation>
    </message>
    <message>
      <source>Cache</source>
      <translation>缓存</translation>
    </message>
    <message>
      <source>Cache by kind of layers</source>
      <translation>按层的种类划分的缓存</translation>
    </message>
    <message>
      <source>Cache missed</source>
      <translation>缓存未命中</translation>
    </message>
    <message>
      <source>Cache of each token</source>
      <translation>每个 token 的缓存</translation>
    </message>
    <message>
      <source>Can be given to a program at once.</source>
      <translation>随时可以分给程序。</translation>
    </message>
    <message>
      <source>Cancel</source>
      <translation>取消</translation>
    </message>
    <message>
      <source>Cancel loading</source>
      <translation>取消加载</translation>
    </message>
    <message>
      <source>Ceiling</source>
      <translation>上限</translation>
    </message>
    <message>
      <source>Change</source>
      <translation>变化</translation>
    </message>
    <message>
      <source>Change…</source>
      <translation>更改…</translation>
    </message>
    <message>
      <source>Chat template</source>
      <translation>对话模板</translation>
    </message>
    <message>
      <source>Chats (*.json)</source>
      <translation>对话 (*.json)</translation>
    </message>
    <message>
      <source>Checking what is here already</source>
      <translation>正在校验已有部分</translation>
    </message>
    <message>
      <source>Choose a folder for models</source>
      <translation>选择存放模型的文件夹</translation>
    </message>
    <message>
      <source>Choose a folder with models</source>
      <translation>选择存有模型的文件夹</translation>
    </message>
    <message>
      <source>Choose a model</source>
      <translation>选择模型</translation>
    </message>
    <message>
      <source>Choose a model file</source>
      <translation>选择模型文件</translation>
    </message>
    <message>
      <source>Choose a model file…</source>
      <translation>选择模型文件…</translation>
    </message>
    <message>
      <source>Choose a model folder</source>
      <translation>选择模型文件夹</translation>
    </message>
    <message>
      <source>Choose a model folder…</source>
      <translation>选择模型文件夹…</translation>
    </message>
    <message>
      <source>Choose a model to see what it is and needs.</source>
      <translation>选择一个模型，查看它的详情和所需内存。</translation>
    </message>
    <message>
      <source>Choose a small model with the same vocabulary</source>
      <translation>选择词表相同的小模型</translation>
    </message>
    <message>
      <source>Choose a smaller model.</source>
      <translation>请选择更小的模型。</translation>
    </message>
    <message>
      <source>Choose a token: click it, or walk with the arrow keys.</source>
      <translation>选择一个 token：点按它，或用方向键移动。</translation>
    </message>
    <message>
      <source>Choose among the likeliest tokens that together reach this probability. 1 is off.</source>
      <translation>只在累计概率达到该值的最可能 token 中选择。1 表示关闭。</translation>
    </message>
    <message>
      <source>Choose among the tokens that are about as surprising as this place in the text lets one expect, up to this probability together. 1 is off.</source>
      <translation>只在“意外程度”与此处预期相近的 token 中选择，它们的概率之和到此为止。1 为关闭。</translation>
    </message>
    <message>
      <source>Choose among this many likeliest tokens only. 0 is off.</source>
      <translation>只在可能性最高的这么多个 token 中选择。0 表示关闭。</translation>
    </message>
    <message>
      <source>Choose…</source>
      <translation>选择…</translation>
    </message>
    <message>
      <source>Choosing better INT4 weights</source>
      <translation>正在挑选更好的 INT4 权重</translation>
    </message>
    <message>
      <source>Close</source>
      <translation>关闭</translation>
    </message>
    <message>
      <source>Close other programs that compute</source>
      <translation>关闭占用处理器的其他程序</translation>
    </message>
    <message>
      <source>Close other programs to be safe; they hold {size}.</source>
      <translation>为稳妥起见，请关闭其他程序；它们占用 {size}。</translation>
    </message>
    <message>
      <source>Close other programs; they hold {size}.</source>
      <translation>请关闭其他程序；它们占用 {size}。</translation>
    </message>
    <message>
      <source>Code</source>
      <translation>代码</translation>
    </message>
    <message>
      <source>Colours</source>
      <translation>配色</translation>
    </message>
    <message>
      <source>Compare with</source>
      <translation>对比</translation>
    </message>
    <message>
      <source>Compares an answer with the cache and without it.</source>
      <translation>比较有缓存和没有缓存时的同一个回答。</translation>
    </message>
    <message>
      <source>Compares each precision with FP32 on two built-in texts, beside your chats.</source>
      <translation>用两段内置文本将各精度与 FP32 比较，不影响聊天。</translation>
    </message>
    <message>
      <source>Compute the tokens</source>
      <translation>计算 token</translation>
    </message>
    <message>
      <source>Computing</source>
      <translation>计算</translation>
    </message>
    <message>
      <source>Computing the prompt took {ms:.0f} ms, {share:.0%} of the time.</source>
      <translation>计算提示用了 {ms:.0f} ms，占总时间的 {share:.0%}。</translation>
    </message>
    <message>
      <source>Computing {count} tokens…</source>
      <translation>正在计算 {count} 个 token…</translation>
    </message>
    <message>
      <source>Context</source>
      <translation>上下文</translation>
    </message>
    <message>
      <source>Context length</source>
      <translation>上下文长度</translation>
    </message>
    <message>
      <source>Continue</source>
      <translation>继续</translation>
    </message>
    <message>
      <source>Continue from here with this</source>
      <translation>从这里换成它继续</translation>
    </message>
    <message>
      <source>Conversation</source>
      <translation>对话内容</translation>
    </message>
    <message>
      <source>Conversations</source>
      <translation>对话</translation>
    </message>
    <message>
      <source>Copied</source>
      <translation>已复制</translation>
    </message>
    <message>
      <source>Copy</source>
      <translation>复制</translation>
    </message>
    <message>
      <source>Copy message</source>
      <translation>复制消息</translation>
    </message>
    <message>
      <source>Copy the reasoning</source>
      <translation>复制思考过程</translation>
    </message>
    <message>
      <source>Copy this code</source>
      <translation>复制这段代码</translation>
    </message>
    <message>
      <source>Cut off when the app closed</source>
      <translation>应用关闭时中断</translation>
    </message>
    <message>
      <source>Dark</source>
      <translation>深色</translation>
    </message>
    <message>
      <source>Decode</source>
      <translation>解码</translation>
    </message>
    <message>
      <source>Decode leaves ~{idle} of the arithmetic idle: it does {n} operations for each byte it reads.</source>
      <translation>解码时约 {idle} 的算力闲着：每读一个字节只做 {n} 次运算。</translation>
    </message>
    <message>
      <source>Decode-bound</source>
      <translation>受限于解码</translation>
    </message>
    <message>
      <source>Delete</source>
      <translation>删除</translation>
    </message>
    <message>
      <source>Delete the selected chat</source>
      <translation>删除所选对话</translation>
    </message>
    <message>
      <source>Delete this run</source>
      <translation>删除这次运行</translation>
    </message>
    <message>
      <source>Deleted “{title}”</source>
      <translation>已删除“{title}”</translation>
    </message>
    <message>
      <source>Diagnosis</source>
      <translation>诊断</translation>
    </message>
    <message>
      <source>Discard</source>
      <translation>丢弃</translation>
    </message>
    <message>
      <source>Divergence from full precision (nats)</source>
      <translation>与全精度的散度（nat）</translation>
    </message>
    <message>
      <source>Download</source>
      <translation>下载</translation>
    </message>
    <message>
      <source>Download a model</source>
      <translation>下载模型</translation>
    </message>
    <message>
      <source>Download folder</source>
      <translation>下载文件夹</translation>
    </message>
    <message>
      <source>Download one, or add a folder with .gguf files or safetensors models under “Folders”.</source>
      <translation>下载一个，或在“文件夹”中添加存有 .gguf 文件或 safetensors 模型的文件夹。</translation>
    </message>
    <message>
      <source>Downloads</source>
      <translation>下载</translation>
    </message>
    <message>
      <source>Download…</source>
      <translation>下载…</translation>
    </message>
    <message>
      <source>Drawing (SVG)…</source>
      <translation>矢量图（SVG）…</translation>
    </message>
    <message>
      <source>During this answer</source>
      <translation>这次回答期间</translation>
    </message>
    <message>
      <source>Each answer</source>
      <translation>每个回答</translation>
    </message>
    <message>
      <source>Each decoded token reads {size} of memory, at {rate}: {share} of what this machine can read.</source>
      <translation>每解码一个 token 要读 {size} 内存，速度 {rate}，是本机读取上限的 {share}。</translation>
    </message>
    <message>
      <source>Each is measured on the loaded model. A chat goes first.</source>
      <translation>每项都在已加载的模型上实测；对话优先。</translation>
    </message>
    <message>
      <source>Each token took {first} at the beginning and {last} after {count} tokens, {change} more: each one reads all the weights and a cache that grows. Answers use memory bandwidth.</source>
      <translation>每个 token 开始时耗时 {first}，{count} 个之后为 {last}，多了 {change}：每个 token 都要读一遍全部权重和不断增大的缓存。回答消耗的是内存带宽。</translation>
    </message>
    <message>
      <source>Each token took {first} at the beginning and {last} after {count} tokens. It should not become faster: something else kept this machine busy. Measure again.</source>
      <translation>每个 token 开始时耗时 {first}，{count} 个之后为 {last}。它不该越来越快：可能有别的程序占用了本机。请再测一次。</translation>
    </message>
    <message>
      <source>Each token took {first} at the beginning and {last} after {count} tokens: at this length, reading the weights is what takes the time, not the cache.</source>
      <translation>每个 token 开始时耗时 {first}，{count} 个之后为 {last}：在这个长度上，耗时主要是读取权重，而不是缓存。</translation>
    </message>
    <message>
      <source>Each token waits for memory: reading the weights and the cache takes {share:.0%} of its time at this machine's ceiling.</source>
      <translation>每个 token 都在等内存：按本机实测上限，读取权重和缓存就占去 {share:.0%} 的时间。</translation>
    </message>
    <message>
      <source>Each token waits for memory: reading the weights and the cache takes {share:.0%} of its time at this machine's ceiling. For {waited:.0%} of it the engine had no core: other programs kept {others:.1f} of {cores:.0f} busy, and this window {window:.1f}.</source>
      <translation>每个 token 都在等内存：按本机实测上限，读取权重和缓存就占去 {share:.0%} 的时间。另有 {waited:.0%} 的时间引擎分不到核心：{cores:.0f} 个核心中，其他程序占了 {others:.1f} 个，本窗口占了 {window:.1f} 个。</translation>
    </message>
    <message>
      <source>Each token waits for memory: reading the weights and the cache takes {share:.0%} of its time at this machine's ceiling. The host of this virtual machine took {stolen:.0%} of the processor time.</source>
      <translation>每个 token 都在等内存：按本机实测上限，读取权重和缓存就占去 {share:.0%} 的时间。另有 {stolen:.0%} 的处理器时间被本虚拟机的宿主机拿走。</translation>
    </message>
    <message>
      <source>Edit message</source>
      <translation>编辑消息</translation>
    </message>
    <message>
      <source>Editing an earlier message — Esc leaves it as it was</source>
      <translation>正在编辑之前的消息：按 Esc 放弃修改</translation>
    </message>
    <message>
      <source>Editors and scripts that speak OpenAI's protocol can ask the loaded model. Nobody outside this computer reaches it, and chats in this window go first.</source>
      <translation>使用 OpenAI 协议的编辑器和脚本可以向已加载的模型提问。本机之外无法访问，而且此窗口中的对话优先。</translation>
    </message>
    <message>
      <source>Embedding</source>
      <translation>嵌入</translation>
    </message>
    <message>
      <source>Empty: the app's own.</source>
      <translation>留空则使用应用自己的文件夹。</translation>
    </message>
    <message>
      <source>End the answer here</source>
      <translation>回答在此结束</translation>
    </message>
    <message>
      <source>Engine</source>
      <translation>引擎</translation>
    </message>
    <message>
      <source>Engine: too few tokens yet.</source>
      <translation>引擎：token 还太少。</translation>
    </message>
    <message>
      <source>Engine: {rate}.</source>
      <translation>引擎：{rate}。</translation>
    </message>
    <message>
      <source>English</source>
      <translation>English</translation>
    </message>
    <message>
      <source>Entropy</source>
      <translation>熵</translation>
    </message>
    <message>
      <source>Every answer becomes a JSON document that this schema describes, for example {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}. Empty: free text.</source>
      <translation>每个回答都会是符合此 Schema 的 JSON，例如 {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}。留空则为自由文本。</translation>
    </message>
    <message>
      <source>Everything else on this machine, the system included.</source>
      <translation>这台机器上的其他一切，包括系统。</translation>
    </message>
    <message>
      <source>Exact</source>
      <translation>精确</translation>
    </message>
    <message>
      <source>Experiment</source>
      <translation>实验</translation>
    </message>
    <message>
      <source>Experiments</source>
      <translation>实验</translation>
    </message>
    <message>
      <source>Explain in three sentences why the sky is blue.</source>
      <translation>用三句话解释天空为什么是蓝色的。</translation>
    </message>
    <message>
      <source>Export</source>
      <translation>导出</translation>
    </message>
    <message>
      <source>Export all chats</source>
      <translation>导出全部对话</translation>
    </message>
    <message>
      <source>Export all chats…</source>
      <translation>导出全部对话…</translation>
    </message>
    <message>
      <source>Export the chat</source>
      <translation>导出对话</translation>
    </message>
    <message>
      <source>Export…</source>
      <translation>导出…</translation>
    </message>
    <message>
      <source>FFN</source>
      <translation>FFN</translation>
    </message>
    <message>
      <source>FP32</source>
      <translation>FP32</translation>
    </message>
    <message>
      <source>FP32 (largest)</source>
      <translation>FP32（最大）</translation>
    </message>
    <message>
      <source>FP32 (twice as much)</source>
      <translation>FP32（加倍）</translation>
    </message>
    <message>
      <source>Figure</source>
      <translation>数据</translation>
    </message>
    <message>
      <source>Find or download a model</source>
      <translation>查找或下载模型</translation>
    </message>
    <message>
      <source>First token</source>
      <translation>首个 token</translation>
    </message>
    <message>
      <source>First token (TTFT)</source>
      <translation>首个 token（TTFT）</translation>
    </message>
    <message>
      <source>First token after {first}, complete after {whole}; {stage} took {share} of it.</source>
      <translation>首个 token 用时 {first}，全部完成用时 {whole}；其中{stage}占 {share}。</translation>
    </message>
    <message>
      <source>First token after {first}, {whole} so far; {stage} took {share} of it.</source>
      <translation>首个 token 用时 {first}，至今 {whole}；其中{stage}占 {share}。</translation>
    </message>
    <message>
      <source>First token only</source>
      <translation>只看首个 token</translation>
    </message>
    <message>
      <source>Fits</source>
      <translation>够用</translation>
    </message>
    <message>
      <source>Folders</source>
      <translation>文件夹</translation>
    </message>
    <message>
      <source>Free</source>
      <translation>空闲</translation>
    </message>
    <message>
      <source>Frequency</source>
      <translation>频率</translation>
    </message>
    <message>
      <source>Frequency penalty</source>
      <translation>频率惩罚</translation>
    </message>
    <message>
      <source>From token {position} on other chats needed the room in the cache: {lost} tokens were read anew. A larger KV cache budget keeps more.</source>
      <translation>从第 {position} 个 token 起，缓存空间已被其他对话占用：{lost} 个 token 重新读取。增大 KV 缓存上限可以保留更多。</translation>
    </message>
    <message>
      <source>From token {position} on the prompt differs from the last one, by an edit, another branch or system prompt, messages left out, or the model's template: {lost} tokens were read anew.</source>
      <translation>从第 {position} 个 token 起，提示词与上一次不同（编辑、其他分支、系统提示、略去的消息或模型的模板所致）：{lost} 个 token 重新读取。</translation>
    </message>
    <message>
      <source>Full processor speed: plug it in, choose a faster power mode, let it cool</source>
      <translation>让处理器全速运行：接上电源，选用更快的电源模式，注意散热</translation>
    </message>
    <message>
      <source>GPU memory budget</source>
      <translation>显存预算</translation>
    </message>
    <message>
      <source>Gap</source>
      <translation>间隔</translation>
    </message>
    <message>
      <source>Gaps one after another</source>
      <translation>逐个间隔</translation>
    </message>
    <message>
      <source>Give me five questions to ask before I buy a used bicycle.</source>
      <translation>买二手自行车之前，该问哪五个问题？</translation>
    </message>
    <message>
      <source>Gives a context of ~{n} tokens, for one chat.</source>
      <translation>可容纳约 {n} 个 token 的上下文，供一个对话使用。</translation>
    </message>
    <message>
      <source>Gives the full context of {n} tokens to ~{chats} at once.</source>
      <translation>可同时让约 {chats}用满 {n} 个 token 的上下文。</translation>
    </message>
    <message>
      <source>Go on</source>
      <translation>继续</translation>
    </message>
    <message>
      <source>Graphics card</source>
      <translation>显卡</translation>
    </message>
    <message>
      <source>Growth of this chat</source>
      <translation>本对话的增长</translation>
    </message>
    <message>
      <source>Guess ahead</source>
      <translation>提前猜测</translation>
    </message>
    <message>
      <source>Guesses that were right</source>
      <translation>猜中的比例</translation>
    </message>
    <message>
      <source>Guesses the next tokens and checks them all in one step, which is faster where they are right. The answers are the same with and without. N-grams look up what followed before in the conversation and need no memory; a small model with the same vocabulary guesses more. It rests where it does not pay.</source>
      <translation>先猜出后面几个 token，再用一步全部核对，猜对时更快。开或关，回答都一样。N-gram 查找对话里同样的词后面曾出现什么，不占内存；词表相同的小模型能猜得更多。不划算时会自动暂停。</translation>
    </message>
    <message>
      <source>Guessing ahead</source>
      <translation>提前猜测</translation>
    </message>
    <message>
      <source>Heads</source>
      <translation>注意力头</translation>
    </message>
    <message>
      <source>Hidden models</source>
      <translation>隐藏的模型</translation>
    </message>
    <message>
      <source>Hidden size</source>
      <translation>隐藏维度</translation>
    </message>
    <message>
      <source>Hide the table</source>
      <translation>隐藏表格</translation>
    </message>
    <message>
      <source>Host-bound</source>
      <translation>受限于模型之外的工作</translation>
    </message>
    <message>
      <source>How adventurous the choice of words is. 0 always takes the likeliest word; above 1 it becomes erratic.</source>
      <translation>选词有多大胆。0 总是选最可能的词；超过 1 会变得不稳定。</translation>
    </message>
    <message>
      <source>How exactly each weight is kept. Fewer bits need less memory and answer faster; quality drops a little with INT4.</source>
      <translation>每个权重保存得有多精确。位数越少，占用内存越小，回答越快；INT4 的质量会略有下降。</translation>
    </message>
    <message>
      <source>How exactly the cache keeps what was read. Fewer bits hold a longer conversation in the same memory; with INT4 answers may drift in long ones.</source>
      <translation>缓存保存已读内容的精确程度。位数越少，同样的内存能容纳越长的对话；INT4 在长对话中可能使回答有所偏离。</translation>
    </message>
    <message>
      <source>How long it takes is estimated from the model's size.</source>
      <translation>所需时间按模型大小估算。</translation>
    </message>
    <message>
      <source>How long it takes is told by the last run here.</source>
      <translation>所需时间取自本机上一次测量。</translation>
    </message>
    <message>
      <source>How long the gaps are</source>
      <translation>间隔的分布</translation>
    </message>
    <message>
      <source>How many answers are written side by side; further ones wait. More of them share the reading of the weights, and each is slower.</source>
      <translation>同时写多少个回答，更多的要等待。多个回答共用一次权重读取，但每个都会慢一些。</translation>
    </message>
    <message>
      <source>How many answers of a length have room in the KV cache at once.</source>
      <translation>KV 缓存能同时容纳多少个某一长度的回答。</translation>
    </message>
    <message>
      <source>How much the model can see at once: system prompt, conversation and answer together. A longer context needs more memory.</source>
      <translation>模型一次能看到多少内容：系统提示、对话和回答合计。上下文越长，需要的内存越多。</translation>
    </message>
    <message>
      <source>How thorough</source>
      <translation>细致程度</translation>
    </message>
    <message>
      <source>INT4</source>
      <translation>INT4</translation>
    </message>
    <message>
      <source>INT4 (a quarter of it)</source>
      <translation>INT4（四分之一）</translation>
    </message>
    <message>
      <source>INT4 (smallest, fastest)</source>
      <translation>INT4（最小，最快）</translation>
    </message>
    <message>
      <source>INT4 calibrated</source>
      <translation>INT4 校准</translation>
    </message>
    <message>
      <source>INT4 calibrated (better, made once)</source>
      <translation>INT4 校准（更好，只需生成一次）</translation>
    </message>
    <message>
      <source>INT8</source>
      <translation>INT8</translation>
    </message>
    <message>
      <source>INT8 (half of it, nearly exact)</source>
      <translation>INT8（减半，几乎无损）</translation>
    </message>
    <message>
      <source>INT8 (nearly exact)</source>
      <translation>INT8（近乎无损）</translation>
    </message>
    <message>
      <source>If all layers looked back over everything.</source>
      <translation>假如所有层都回看全部内容。</translation>
    </message>
    <message>
      <source>If every head of the model kept a key and a value of its own.</source>
      <translation>假如模型的每个头都各存一份 key 和 value。</translation>
    </message>
    <message>
      <source>Inside the model</source>
      <translation>模型内部</translation>
    </message>
    <message>
      <source>Inspector</source>
      <translation>检视器</translation>
    </message>
    <message>
      <source>Intensity</source>
      <translation>计算强度</translation>
    </message>
    <message>
      <source>It begins in answer {number}.</source>
      <translation>差异始于第 {number} 个回答。</translation>
    </message>
    <message>
      <source>It begins in the system prompt.</source>
      <translation>差异始于系统提示。</translation>
    </message>
    <message>
      <source>It begins in your message {number}.</source>
      <translation>差异始于你的第 {number} 条消息。</translation>
    </message>
    <message>
      <source>It belongs to another program, which should remove it.</source>
      <translation>该文件属于其他程序，应由那个程序删除。</translation>
    </message>
    <message>
      <source>It cannot be measured with these settings ({reason}). Nothing was changed.</source>
      <translation>用这些设置无法测量（{reason}）。没有更改任何内容。</translation>
    </message>
    <message>
      <source>It could not be measured. The engine says: {reason}</source>
      <translation>未能测量。引擎的说明：{reason}</translation>
    </message>
    <message>
      <source>It does not pay here at present, so it is resting.</source>
      <translation>目前在这里不划算，已暂停猜测。</translation>
    </message>
    <message>
      <source>It has not been measured yet with this model.</source>
      <translation>尚未在此模型上测量。</translation>
    </message>
    <message>
      <source>It would write ~{n} tokens a second.</source>
      <translation>预计每秒约 {n} 个 token。</translation>
    </message>
    <message>
      <source>Its makers want you to accept their terms before you download it.</source>
      <translation>下载之前，需要先接受作者的条款。</translation>
    </message>
    <message>
      <source>JSON (*.json)</source>
      <translation>JSON (*.json)</translation>
    </message>
    <message>
      <source>JSON Schema</source>
      <translation>JSON Schema</translation>
    </message>
    <message>
      <source>JSON, can be added again (*.json)</source>
      <translation>JSON，可重新添加 (*.json)</translation>
    </message>
    <message>
      <source>KV</source>
      <translation>KV</translation>
    </message>
    <message>
      <source>KV cache</source>
      <translation>KV 缓存</translation>
    </message>
    <message>
      <source>KV cache budget</source>
      <translation>KV 缓存上限</translation>
    </message>
    <message>
      <source>KV cache precision</source>
      <translation>KV 缓存精度</translation>
    </message>
    <message>
      <source>KV cache, in use</source>
      <translation>KV 缓存（已用）</translation>
    </message>
    <message>
      <source>Keep earlier prompts in the cache</source>
      <translation>在缓存中保留之前的提示</translation>
    </message>
    <message>
      <source>Keep the KV cache with the conversation</source>
      <translation>随对话保存 KV 缓存</translation>
    </message>
    <message>
      <source>Keep the cache with the conversation</source>
      <translation>把缓存随对话保存</translation>
    </message>
    <message>
      <source>Keep the first turn and the newest</source>
      <translation>保留第一轮和最新的几轮</translation>
    </message>
    <message>
      <source>Kept</source>
      <translation>保留</translation>
    </message>
    <message>
      <source>Kept by other programs</source>
      <translation>其他程序的模型</translation>
    </message>
    <message>
      <source>Kept by the allocator for the next tensors.</source>
      <translation>由分配器留给后面的张量。</translation>
    </message>
    <message>
      <source>Kernels</source>
      <translation>计算内核</translation>
    </message>
    <message>
      <source>Key for other programs</source>
      <translation>其他程序的密钥</translation>
    </message>
    <message>
      <source>Keyboard shortcuts</source>
      <translation>键盘快捷键</translation>
    </message>
    <message>
      <source>Language</source>
      <translation>语言</translation>
    </message>
    <message>
      <source>Larger text</source>
      <translation>放大文字</translation>
    </message>
    <message>
      <source>Largest first</source>
      <translation>最大的在前</translation>
    </message>
    <message>
      <source>Latest first, one a line.</source>
      <translation>最新的在前，每行一个。</translation>
    </message>
    <message>
      <source>Layers</source>
      <translation>层数</translation>
    </message>
    <message>
      <source>Leave out the oldest turns</source>
      <translation>略去最早的几轮</translation>
    </message>
    <message>
      <source>Leave out tokens that are this much less likely than the likeliest one: 0.05 means less than a twentieth. 0 is off.</source>
      <translation>排除概率远低于首选的 token：0.05 表示低于首选概率的二十分之一。0 表示关闭。</translation>
    </message>
    <message>
      <source>Leave out {folder}</source>
      <translation>不再查找 {folder}</translation>
    </message>
    <message>
      <source>Licence</source>
      <translation>许可证</translation>
    </message>
    <message>
      <source>Licence: {name}.</source>
      <translation>许可证：{name}。</translation>
    </message>
    <message>
      <source>Light</source>
      <translation>浅色</translation>
    </message>
    <message>
      <source>Light or dark.</source>
      <translation>浅色或深色。</translation>
    </message>
    <message>
      <source>Live</source>
      <translation>实时</translation>
    </message>
    <message>
      <source>Load</source>
      <translation>加载</translation>
    </message>
    <message>
      <source>Load a model first.</source>
      <translation>请先加载模型。</translation>
    </message>
    <message>
      <source>Load a model: it shows the tokens, and what it thinks of them.</source>
      <translation>请加载模型：由它给出 token 以及对它们的判断。</translation>
    </message>
    <message>
      <source>Loaded</source>
      <translation>已加载</translation>
    </message>
    <message>
      <source>Loading the tokenizer</source>
      <translation>正在加载分词器</translation>
    </message>
    <message>
      <source>Loading was cancelled.</source>
      <translation>已取消加载。</translation>
    </message>
    <message>
      <source>Loading weights</source>
      <translation>正在加载权重</translation>
    </message>
    <message>
      <source>Long answers</source>
      <translation>长回答</translation>
    </message>
    <message>
      <source>Long prompts</source>
      <translation>长提示</translation>
    </message>
    <message>
      <source>Longest answer</source>
      <translation>回答长度上限</translation>
    </message>
    <message>
      <source>Longest wait of the running answer</source>
      <translation>进行中的回答的最长等待</translation>
    </message>
    <message>
      <source>Look up</source>
      <translation>查询</translation>
    </message>
    <message>
      <source>Looking for models…</source>
      <translation>正在查找模型…</translation>
    </message>
    <message>
      <source>Loses noticeably</source>
      <translation>损失明显</translation>
    </message>
    <message>
      <source>Loss not measured</source>
      <translation>损失未测量</translation>
    </message>
    <message>
      <source>MMMM</source>
      <translation>M月</translation>
    </message>
    <message>
      <source>MMMM yyyy</source>
      <translation>yyyy年M月</translation>
    </message>
    <message>
      <source>Machine</source>
      <translation>本机</translation>
    </message>
    <message>
      <source>Made first, {time}, once</source>
      <translation>需先生成，{time}，仅一次</translation>
    </message>
    <message>
      <source>Makes a token less likely each time the answer has it: it stops loops. 0 is off.</source>
      <translation>token 每出现一次，概率就再降低一次：可打断循环。0 为关闭。</translation>
    </message>
    <message>
      <source>Makes every token less likely once the answer has it, however often: it leads to new subjects. 0 is off; below 0 the answer stays with what it has.</source>
      <translation>回答中出现过的 token，无论几次，概率都降低一次：会引向新话题。0 为关闭；低于 0 则更守着已有内容。</translation>
    </message>
    <message>
      <source>Makes words that were just used less likely. 1 is off; about 1.1 stops a model that repeats itself.</source>
      <translation>降低刚用过的词再次出现的可能。1 表示关闭；约 1.1 可以让模型不再重复。</translation>
    </message>
    <message>
      <source>Making room for the KV cache</source>
      <translation>正在分配 KV 缓存</translation>
    </message>
    <message>
      <source>Map of the cache: {layers}</source>
      <translation>缓存图：{layers}</translation>
    </message>
    <message>
      <source>Markdown (*.md)</source>
      <translation>Markdown (*.md)</translation>
    </message>
    <message>
      <source>Measure again</source>
      <translation>重新测量</translation>
    </message>
    <message>
      <source>Measure again (~20 s)</source>
      <translation>重新测量（约 20 秒）</translation>
    </message>
    <message>
      <source>Measure the loss</source>
      <translation>测量损失</translation>
    </message>
    <message>
      <source>Measure this machine (~20 s)</source>
      <translation>测量这台机器（约 20 秒）</translation>
    </message>
    <message>
      <source>Measure what they lose…</source>
      <translation>测量它们的损失…</translation>
    </message>
    <message>
      <source>Measured</source>
      <translation>实测</translation>
    </message>
    <message>
      <source>Measured just now on random tokens, {n} steps.</source>
      <translation>刚刚用随机 token 测得，共 {n} 步。</translation>
    </message>
    <message>
      <source>Measured on this model over {n} tokens: perplexity {perplexity}. There was no room for FP32 beside it to compare with.</source>
      <translation>在此模型上测量了 {n} 个 token：困惑度 {perplexity}。内存不足以同时加载 FP32，无法比较。</translation>
    </message>
    <message>
      <source>Measured on this model over {n} tokens: {part} of the likeliest next tokens are those of FP32; KL divergence {kl} nats; perplexity {perplexity}, with FP32 {reference}.</source>
      <translation>在此模型上测量了 {n} 个 token：{part} 的首选 token 与 FP32 一致；KL 散度 {kl} 奈特；困惑度 {perplexity}，FP32 为 {reference}。</translation>
    </message>
    <message>
      <source>Measured {when} on {where}, {n} threads.</source>
      <translation>{when}在{where}上测得，{n} 个线程。</translation>
    </message>
    <message>
      <source>Measuring this machine</source>
      <translation>正在测量这台机器</translation>
    </message>
    <message>
      <source>Measuring {name}, {number} of {count}: {part}</source>
      <translation>正在测量 {name}（第 {number} 项，共 {count} 项）：{part}</translation>
    </message>
    <message>
      <source>Measuring {name}: {part}</source>
      <translation>正在测量 {name}：{part}</translation>
    </message>
    <message>
      <source>Memory</source>
      <translation>内存</translation>
    </message>
    <message>
      <source>Memory for what the model has read already, so that it need not read it again with every token.</source>
      <translation>用来记住模型已读内容的内存，这样生成每个 token 时不必从头再读。</translation>
    </message>
    <message>
      <source>Memory is short: {share:.0%} of what each token reads was fetched back from the disk.</source>
      <translation>内存不足：每个 token 要读的内容有 {share:.0%} 是从磁盘取回的。</translation>
    </message>
    <message>
      <source>Memory spilled over</source>
      <translation>内存不够，溢出了</translation>
    </message>
    <message>
      <source>Message</source>
      <translation>消息</translation>
    </message>
    <message>
      <source>Message — Enter to send, Shift+Enter for a new line</source>
      <translation>输入消息：Enter 发送，Shift+Enter 换行</translation>
    </message>
    <message>
      <source>MiB</source>
      <translation>MiB</translation>
    </message>
    <message>
      <source>Min-p</source>
      <translation>Min-p</translation>
    </message>
    <message>
      <source>Model</source>
      <translation>模型</translation>
    </message>
    <message>
      <source>Model folders</source>
      <translation>模型文件夹</translation>
    </message>
    <message>
      <source>Model menu</source>
      <translation>模型菜单</translation>
    </message>
    <message>
      <source>Model: {name}, {state}</source>
      <translation>模型：{name}，{state}</translation>
    </message>
    <message>
      <source>Models</source>
      <translation>模型</translation>
    </message>
    <message>
      <source>Models (*.gguf);;All files (*)</source>
      <translation>模型 (*.gguf);;所有文件 (*)</translation>
    </message>
    <message>
      <source>Models in the repository</source>
      <translation>仓库中的模型</translation>
    </message>
    <message>
      <source>Models on this computer</source>
      <translation>本机上的模型</translation>
    </message>
    <message>
      <source>More than one cause is possible, and the figures do not tell them apart.</source>
      <translation>可能的原因不止一个，现有数据无法区分。</translation>
    </message>
    <message>
      <source>More than one cause is possible, and the figures prove none of them.</source>
      <translation>可能的原因不止一个，现有数据一个也不能证实。</translation>
    </message>
    <message>
      <source>Move to trash</source>
      <translation>移到回收站</translation>
    </message>
    <message>
      <source>Move to trash…</source>
      <translation>移到回收站…</translation>
    </message>
    <message>
      <source>Move {name} to the trash?</source>
      <translation>要把 {name} 移到回收站吗？</translation>
    </message>
    <message>
      <source>N-grams of the conversation</source>
      <translation>对话中的 N-gram</translation>
    </message>
    <message>
      <source>Name</source>
      <translation>名称</translation>
    </message>
    <message>
      <source>Narrower weights</source>
      <translation>更窄的权重</translation>
    </message>
    <message>
      <source>Needs a reload.</source>
      <translation>需要重新加载。</translation>
    </message>
    <message>
      <source>Needs ~{needed} of {free} free: barely fits.</source>
      <translation>约需 {needed}，可用 {free}：勉强够用。</translation>
    </message>
    <message>
      <source>Needs ~{needed} of {free} free: fits.</source>
      <translation>约需 {needed}，可用 {free}：够用。</translation>
    </message>
    <message>
      <source>Needs ~{needed} of {free} free: too large.</source>
      <translation>约需 {needed}，可用 {free}：不够用。</translation>
    </message>
    <message>
      <source>New chat</source>
      <translation>新建对话</translation>
    </message>
    <message>
      <source>New each time</source>
      <translation>每次都换</translation>
    </message>
    <message>
      <source>New line</source>
      <translation>换行</translation>
    </message>
    <message>
      <source>New title</source>
      <translation>新标题</translation>
    </message>
    <message>
      <source>Newest first</source>
      <translation>最新的在前</translation>
    </message>
    <message>
      <source>Next version</source>
      <translation>下一个版本</translation>
    </message>
    <message>
      <source>No chat contains “{text}”.</source>
      <translation>没有包含“{text}”的对话。</translation>
    </message>
    <message>
      <source>No chat could be read from this file ({reason}). Nothing was changed.</source>
      <translation>无法从这个文件读取对话（{reason}）。没有任何改动。</translation>
    </message>
    <message>
      <source>No core for the engine</source>
      <translation>引擎等待核心</translation>
    </message>
    <message>
      <source>No guessing ahead</source>
      <translation>不再提前猜测</translation>
    </message>
    <message>
      <source>No model chosen</source>
      <translation>未选择模型</translation>
    </message>
    <message>
      <source>No model is loaded. Choose one above; your message is kept.</source>
      <translation>没有加载模型。请在上方选择一个；你的消息已保留。</translation>
    </message>
    <message>
      <source>No model loaded</source>
      <translation>未加载模型</translation>
    </message>
    <message>
      <source>No model matches “{text}”.</source>
      <translation>没有与“{text}”相符的模型。</translation>
    </message>
    <message>
      <source>No models yet</source>
      <translation>还没有模型</translation>
    </message>
    <message>
      <source>No part takes most of the time: waiting {queue:.0%}, the prompt {prefill:.0%}, writing {decode:.0%}.</source>
      <translation>没有哪一部分占大头：等待 {queue:.0%}，提示 {prefill:.0%}，写回答 {decode:.0%}。</translation>
    </message>
    <message>
      <source>No stalls.</source>
      <translation>没有卡顿。</translation>
    </message>
    <message>
      <source>Normal text size</source>
      <translation>恢复文字大小</translation>
    </message>
    <message>
      <source>Not all of it was measured.</source>
      <translation>没有全部测完。</translation>
    </message>
    <message>
      <source>Not measured on this machine yet.</source>
      <translation>还没有在本机测量过。</translation>
    </message>
    <message>
      <source>Not taken: at least {low}.</source>
      <translation>未采用：最小为 {low}。</translation>
    </message>
    <message>
      <source>Not taken: at most {high}.</source>
      <translation>未采用：最大为 {high}。</translation>
    </message>
    <message>
      <source>Not taken: choose a number from {low} to {high}.</source>
      <translation>未采用：请输入 {low} 到 {high} 之间的数。</translation>
    </message>
    <message>
      <source>Nothing is measured yet.</source>
      <translation>还没有测量。</translation>
    </message>
    <message>
      <source>Nothing is sent before you press “Look up”.</source>
      <translation>按下“查询”之前不会发送任何内容。</translation>
    </message>
    <message>
      <source>Nothing takes most of a token's time: reading the model takes {share:.0%} at this machine's ceiling, and for {waited:.0%} the engine had no core.</source>
      <translation>没有哪一项占去 token 的大部分时间：按本机实测上限，读取模型占 {share:.0%}；另有 {waited:.0%} 的时间引擎分不到核心。</translation>
    </message>
    <message>
      <source>Of an answer that ended, no chat's any more</source>
      <translation>来自已结束的回答，不再属于任何对话</translation>
    </message>
    <message>
      <source>Of ceiling</source>
      <translation>占上限</translation>
    </message>
    <message>
      <source>Of the ceiling</source>
      <translation>占上限</translation>
    </message>
    <message>
      <source>Off</source>
      <translation>关闭</translation>
    </message>
    <message>
      <source>On disk</source>
      <translation>磁盘占用</translation>
    </message>
    <message>
      <source>One answer uses ~{one} of the arithmetic this machine can do, {count} use ~{all}: the weights are read once for all of them.</source>
      <translation>一个回答用到本机算力的 ~{one}，{count} 个用到 ~{all}：权重只需为它们一起读一次。</translation>
    </message>
    <message>
      <source>One cause is possible, and the figures do not prove it.</source>
      <translation>有一种可能的原因，但数据不足以证实。</translation>
    </message>
    <message>
      <source>One chat was added.</source>
      <translation>已添加一个对话。</translation>
    </message>
    <message>
      <source>One full context</source>
      <translation>一个完整上下文</translation>
    </message>
    <message>
      <source>One moment: this page is being made.</source>
      <translation>请稍候：正在准备此页面。</translation>
    </message>
    <message>
      <source>One of the settings cannot be used ({reason}). Your message is kept.</source>
      <translation>有一项设置无法使用（{reason}）。你的消息已保留。</translation>
    </message>
    <message>
      <source>One token: {ms} ms</source>
      <translation>一个 token：{ms} ms</translation>
    </message>
    <message>
      <source>Only for models whose makers ask who you are. It is sent to the hub and nowhere else.</source>
      <translation>仅用于需要验明身份的模型。令牌只会发送给仓库。</translation>
    </message>
    <message>
      <source>Open link</source>
      <translation>打开链接</translation>
    </message>
    <message>
      <source>Open link…</source>
      <translation>打开链接…</translation>
    </message>
    <message>
      <source>Open this address in the browser?</source>
      <translation>要在浏览器中打开这个地址吗？</translation>
    </message>
    <message>
      <source>Opens the experiment that compares the caches of this model.</source>
      <translation>打开比较此模型各种缓存的实验。</translation>
    </message>
    <message>
      <source>Order of the models</source>
      <translation>模型的排序</translation>
    </message>
    <message>
      <source>Other choices</source>
      <translation>其他选择</translation>
    </message>
    <message>
      <source>Other choices: {choice}</source>
      <translation>其他选择：{choice}</translation>
    </message>
    <message>
      <source>Other programs</source>
      <translation>其他程序</translation>
    </message>
    <message>
      <source>Other programs cannot be served at port {port} ({reason}). Choose another port in the settings.</source>
      <translation>无法在端口 {port} 上提供服务（{reason}）。请在设置中换一个端口。</translation>
    </message>
    <message>
      <source>Other programs compute</source>
      <translation>其他程序在抢占</translation>
    </message>
    <message>
      <source>Other programs keep {others:.1f} of {cores:.0f} cores busy, and the engine wants {threads:.0f}.</source>
      <translation>{cores:.0f} 个核心中有 {others:.1f} 个被其他程序占用，而引擎需要 {threads:.0f} 个。</translation>
    </message>
    <message>
      <source>Other programs kept {n} cores busy meanwhile. Measure again when this machine is quiet.</source>
      <translation>期间别的程序占用了 {n} 个核。请在机器空闲时再测一次。</translation>
    </message>
    <message>
      <source>Other programs on this computer reach the model at {address} with the key {key}</source>
      <translation>本机的其他程序可通过 {address} 访问模型，密钥是 {key}</translation>
    </message>
    <message>
      <source>Paint-bound</source>
      <translation>受限于显示</translation>
    </message>
    <message>
      <source>Parameters</source>
      <translation>参数量</translation>
    </message>
    <message>
      <source>Part</source>
      <translation>部分</translation>
    </message>
    <message>
      <source>Part of the model does not fit on the graphics card: reading it from the computer's memory takes {share:.0%} of each token.</source>
      <translation>模型有一部分放不进显卡：从内存读取它占去每个 token {share:.0%} 的时间。</translation>
    </message>
    <message>
      <source>Part, in ms</source>
      <translation>部分（毫秒）</translation>
    </message>
    <message>
      <source>Parts of the first token</source>
      <translation>首个 token 的组成</translation>
    </message>
    <message>
      <source>Paths, one a line.</source>
      <translation>路径，每行一个。</translation>
    </message>
    <message>
      <source>Perplexity {n}</source>
      <translation>困惑度 {n}</translation>
    </message>
    <message>
      <source>Picture (PNG)…</source>
      <translation>图片（PNG）…</translation>
    </message>
    <message>
      <source>Piece of the prompt</source>
      <translation>提示的分段</translation>
    </message>
    <message>
      <source>Point at the map to see whose a block is. Blocks of half the height are kept for reuse; nobody computes with them now.</source>
      <translation>指向图中的块，看它属于谁。半高的块留作复用，当前没有计算用到它们。</translation>
    </message>
    <message>
      <source>Port</source>
      <translation>端口</translation>
    </message>
    <message>
      <source>Power</source>
      <translation>电源</translation>
    </message>
    <message>
      <source>Precision</source>
      <translation>精度</translation>
    </message>
    <message>
      <source>Prefill</source>
      <translation>预填充</translation>
    </message>
    <message>
      <source>Prefill-bound</source>
      <translation>受限于预填充</translation>
    </message>
    <message>
      <source>Presence penalty</source>
      <translation>存在惩罚</translation>
    </message>
    <message>
      <source>Previous 7 days</source>
      <translation>过去 7 天</translation>
    </message>
    <message>
      <source>Previous version</source>
      <translation>上一个版本</translation>
    </message>
    <message>
      <source>Probability</source>
      <translation>概率</translation>
    </message>
    <message>
      <source>Probability {share} · entropy {bits} bits</source>
      <translation>概率 {share} · 熵 {bits} 比特</translation>
    </message>
    <message>
      <source>Processor cores that compute. More than the physical cores makes answers slower.</source>
      <translation>参与计算的处理器核心数。超过物理核心数反而会让回答变慢。</translation>
    </message>
    <message>
      <source>Processor throttled</source>
      <translation>处理器降频</translation>
    </message>
    <message>
      <source>Products, {precision}</source>
      <translation>矩阵乘，{precision}</translation>
    </message>
    <message>
      <source>Progress</source>
      <translation>进度</translation>
    </message>
    <message>
      <source>Prompt</source>
      <translation>提示</translation>
    </message>
    <message>
      <source>Prompt computed</source>
      <translation>计算的提示</translation>
    </message>
    <message>
      <source>Prompt: {total} tokens, all of them computed</source>
      <translation>提示：{total} 个 token，全部重新计算</translation>
    </message>
    <message>
      <source>Prompt: {total} tokens, {cached} from the cache (hatched), {computed} computed</source>
      <translation>提示：{total} 个 token，{cached} 个来自缓存（斜线），{computed} 个重新计算</translation>
    </message>
    <message>
      <source>Prompts in pieces</source>
      <translation>分段读提示</translation>
    </message>
    <message>
      <source>Python collected garbage</source>
      <translation>Python 在回收垃圾</translation>
    </message>
    <message>
      <source>Q, K and V</source>
      <translation>Q、K、V</translation>
    </message>
    <message>
      <source>Queue-bound</source>
      <translation>受限于排队</translation>
    </message>
    <message>
      <source>Queued: it is sent when the model has loaded.</source>
      <translation>已排队：模型加载完成后发送。</translation>
    </message>
    <message>
      <source>Quick</source>
      <translation>快速</translation>
    </message>
    <message>
      <source>Quit</source>
      <translation>退出</translation>
    </message>
    <message>
      <source>Read/tok</source>
      <translation>每 token 读取</translation>
    </message>
    <message>
      <source>Reading</source>
      <translation>读取</translation>
    </message>
    <message>
      <source>Reading it</source>
      <translation>读提示</translation>
    </message>
    <message>
      <source>Reading the cache</source>
      <translation>读取缓存</translation>
    </message>
    <message>
      <source>Reading the file</source>
      <translation>正在读取文件</translation>
    </message>
    <message>
      <source>Reading the model takes {share:.0%} of each token at this machine's ceiling, and nothing that was measured explains the rest.</source>
      <translation>按本机上限，读取模型占每个 token {share:.0%} 的时间，其余时间用已测的因素解释不了。</translation>
    </message>
    <message>
      <source>Reading the prompt</source>
      <translation>读取提示</translation>
    </message>
    <message>
      <source>Reading the prompt computes {rate}: {share} of what this machine can compute with these weights.</source>
      <translation>读提示词时的计算速度为 {rate}，是本机用这种权重所能达到的 {share}。</translation>
    </message>
    <message>
      <source>Reading the prompt… {done} of {total} tokens</source>
      <translation>正在读取提示… {done} / {total} 个 token</translation>
    </message>
    <message>
      <source>Reading weights</source>
      <translation>读取权重</translation>
    </message>
    <message>
      <source>Reasoning</source>
      <translation>思考过程</translation>
    </message>
    <message>
      <source>Recent models</source>
      <translation>最近使用的模型</translation>
    </message>
    <message>
      <source>Recommended</source>
      <translation>推荐</translation>
    </message>
    <message>
      <source>Regenerate</source>
      <translation>重新生成</translation>
    </message>
    <message>
      <source>Reload</source>
      <translation>重新加载</translation>
    </message>
    <message>
      <source>Reload now</source>
      <translation>立即重新加载</translation>
    </message>
    <message>
      <source>Reload the model</source>
      <translation>重新加载模型</translation>
    </message>
    <message>
      <source>Remembered</source>
      <translation>已记住</translation>
    </message>
    <message>
      <source>Remove from list</source>
      <translation>从列表中移除</translation>
    </message>
    <message>
      <source>Rename</source>
      <translation>重命名</translation>
    </message>
    <message>
      <source>Rename the selected chat</source>
      <translation>重命名所选对话</translation>
    </message>
    <message>
      <source>Repeats lie far apart: other programs kept this machine busy. Measure again.</source>
      <translation>几次重复的结果相差很大：有别的程序占用了本机。请再测一次。</translation>
    </message>
    <message>
      <source>Repetition penalty</source>
      <translation>重复惩罚</translation>
    </message>
    <message>
      <source>Repository on the hub</source>
      <translation>模型仓库</translation>
    </message>
    <message>
      <source>Reset to defaults</source>
      <translation>恢复默认值</translation>
    </message>
    <message>
      <source>Right panel</source>
      <translation>右侧面板</translation>
    </message>
    <message>
      <source>Roofline</source>
      <translation>屋顶线（Roofline）</translation>
    </message>
    <message>
      <source>Room for answers</source>
      <translation>能容纳多少回答</translation>
    </message>
    <message>
      <source>Run</source>
      <translation>运行</translation>
    </message>
    <message>
      <source>Runs on</source>
      <translation>运行于</translation>
    </message>
    <message>
      <source>Runs on this computer. Nothing you write leaves it.</source>
      <translation>在本机运行。你写的内容不会离开这台电脑。</translation>
    </message>
    <message>
      <source>Runs on this machine</source>
      <translation>本机的历次运行</translation>
    </message>
    <message>
      <source>Runs the model once more with a prompt as long as this one, and for some tokens behind it. Answers go first.</source>
      <translation>用同样长的提示和其后的几个 token 再运行一次模型。回答优先。</translation>
    </message>
    <message>
      <source>Same next token as in full precision</source>
      <translation>下一个 token 与全精度相同的比例</translation>
    </message>
    <message>
      <source>Sampling</source>
      <translation>采样</translation>
    </message>
    <message>
      <source>Save</source>
      <translation>保存</translation>
    </message>
    <message>
      <source>Save as JSON…</source>
      <translation>另存为 JSON…</translation>
    </message>
    <message>
      <source>Save as Perfetto trace…</source>
      <translation>另存为 Perfetto 跟踪…</translation>
    </message>
    <message>
      <source>Save the chat as a file</source>
      <translation>把对话保存为文件</translation>
    </message>
    <message>
      <source>Save the trace</source>
      <translation>保存跟踪</translation>
    </message>
    <message>
      <source>Saved as {path}.</source>
      <translation>已保存为 {path}。</translation>
    </message>
    <message>
      <source>Saved in {folder}</source>
      <translation>保存到 {folder}</translation>
    </message>
    <message>
      <source>Saves what the model has read on the disk, so that a long chat goes on at once after a restart. It takes as much room as the cache, and is deleted with the chat.</source>
      <translation>把模型已读的内容存到磁盘，重启后长对话可以立即继续。占用的空间与缓存相同，删除对话时一并删除。</translation>
    </message>
    <message>
      <source>Search again</source>
      <translation>重新查找</translation>
    </message>
    <message>
      <source>Search chats</source>
      <translation>搜索对话</translation>
    </message>
    <message>
      <source>Search models</source>
      <translation>搜索模型</translation>
    </message>
    <message>
      <source>Seed</source>
      <translation>随机种子</translation>
    </message>
    <message>
      <source>Sees</source>
      <translation>可见范围</translation>
    </message>
    <message>
      <source>Select all</source>
      <translation>全选</translation>
    </message>
    <message>
      <source>Send</source>
      <translation>发送</translation>
    </message>
    <message>
      <source>Send (Enter)</source>
      <translation>发送 (Enter)</translation>
    </message>
    <message>
      <source>Serve other programs on this computer</source>
      <translation>为本机的其他程序提供服务</translation>
    </message>
    <message>
      <source>Set: {remedy}.</source>
      <translation>已设置：{remedy}。</translation>
    </message>
    <message>
      <source>Set: {remedy}. The model loads again after this answer.</source>
      <translation>已设置：{remedy}。这个回答写完后重新加载模型。</translation>
    </message>
    <message>
      <source>Set: {remedy}. The model loads again…</source>
      <translation>已设置：{remedy}。正在重新加载模型…</translation>
    </message>
    <message>
      <source>Set: {remedy}. The next answer in this chat is measured.</source>
      <translation>已设置：{remedy}。本对话的下一个回答会被测量。</translation>
    </message>
    <message>
      <source>Settings</source>
      <translation>设置</translation>
    </message>
    <message>
      <source>Share</source>
      <translation>占比</translation>
    </message>
    <message>
      <source>Show all</source>
      <translation>全部显示</translation>
    </message>
    <message>
      <source>Show as a table</source>
      <translation>以表格显示</translation>
    </message>
    <message>
      <source>Show in folder</source>
      <translation>打开所在文件夹</translation>
    </message>
    <message>
      <source>Show less</source>
      <translation>收起</translation>
    </message>
    <message>
      <source>Show or hide the chats</source>
      <translation>显示或隐藏对话列表</translation>
    </message>
    <message>
      <source>Show or hide the right panel</source>
      <translation>显示或隐藏右侧面板</translation>
    </message>
    <message>
      <source>Show the latest answer</source>
      <translation>查看最新的回答</translation>
    </message>
    <message>
      <source>Show what was guessed ahead</source>
      <translation>显示提前猜中的文字</translation>
    </message>
    <message>
      <source>Shows the time from Send to the first token alone.</source>
      <translation>只显示从发送到首个 token 的时间。</translation>
    </message>
    <message>
      <source>Smaller text</source>
      <translation>缩小文字</translation>
    </message>
    <message>
      <source>Speed</source>
      <translation>速度</translation>
    </message>
    <message>
      <source>Speed of the answer</source>
      <translation>回答的速度</translation>
    </message>
    <message>
      <source>Speed of the prompt</source>
      <translation>提示的速度</translation>
    </message>
    <message>
      <source>Speed, memory and quality of this model at each precision.</source>
      <translation>此模型在各种精度下的速度、内存与质量。</translation>
    </message>
    <message>
      <source>Speed, memory and quality with keys and values in fewer bits.</source>
      <translation>以更少的位保存键和值时的速度、内存与质量。</translation>
    </message>
    <message>
      <source>Stage</source>
      <translation>阶段</translation>
    </message>
    <message>
      <source>Stages of the answer</source>
      <translation>回答的各个阶段</translation>
    </message>
    <message>
      <source>Stages of the answer below the ceilings</source>
      <translation>回答的各阶段与上限</translation>
    </message>
    <message>
      <source>Stages of the answer over time</source>
      <translation>各阶段的时间分布</translation>
    </message>
    <message>
      <source>Stalls</source>
      <translation>卡顿</translation>
    </message>
    <message>
      <source>Start (ms)</source>
      <translation>开始 (ms)</translation>
    </message>
    <message>
      <source>Starter model</source>
      <translation>入门模型</translation>
    </message>
    <message>
      <source>Starting the engine</source>
      <translation>正在启动推理引擎</translation>
    </message>
    <message>
      <source>Steps gave several tokens at once: these have no gap.</source>
      <translation>有的步骤一次给出多个 token，它们之间没有间隔。</translation>
    </message>
    <message>
      <source>Stop</source>
      <translation>停止</translation>
    </message>
    <message>
      <source>Stop (Esc)</source>
      <translation>停止 (Esc)</translation>
    </message>
    <message>
      <source>Stop an answer after this many tokens; a token is about three quarters of a word.</source>
      <translation>生成这么多 token 后停止；一个 token 约为四分之三个英文单词。</translation>
    </message>
    <message>
      <source>Stop and say so</source>
      <translation>停止并说明</translation>
    </message>
    <message>
      <source>Stop strings</source>
      <translation>停止字符串</translation>
    </message>
    <message>
      <source>Stop the answer</source>
      <translation>停止回答</translation>
    </message>
    <message>
      <source>Stopped.</source>
      <translation>已停止。</translation>
    </message>
    <message>
      <source>Stopped; what has arrived is kept</source>
      <translation>已停止，已下载的部分会保留</translation>
    </message>
    <message>
      <source>Stored as</source>
      <translation>存储格式</translation>
    </message>
    <message>
      <source>System prompt</source>
      <translation>系统提示</translation>
    </message>
    <message>
      <source>System prompt of “{title}”</source>
      <translation>“{title}”的系统提示</translation>
    </message>
    <message>
      <source>System prompt…</source>
      <translation>系统提示…</translation>
    </message>
    <message>
      <source>Taken by the host</source>
      <translation>被宿主机拿走</translation>
    </message>
    <message>
      <source>Takes effect when the model is loaded again.</source>
      <translation>重新加载模型后生效。</translation>
    </message>
    <message>
      <source>Temperature</source>
      <translation>温度</translation>
    </message>
    <message>
      <source>Text that repeats itself is easy to guess. No answer changes.</source>
      <translation>重复的文本容易猜中。回答的内容不会改变。</translation>
    </message>
    <message>
      <source>That is long ago; measuring again keeps the better figures.</source>
      <translation>已是很久以前；重新测量会保留较好的数值。</translation>
    </message>
    <message>
      <source>The KV cache may take {all}; {used} of it hold something.</source>
      <translation>KV 缓存最多可占 {all}，其中 {used} 存有内容。</translation>
    </message>
    <message>
      <source>The address is http://127.0.0.1 with this port and /v1.</source>
      <translation>地址是 http://127.0.0.1 加上这个端口和 /v1。</translation>
    </message>
    <message>
      <source>The answer in the making</source>
      <translation>正在写的回答</translation>
    </message>
    <message>
      <source>The answer is being written. Its tokens follow when it has ended.</source>
      <translation>回答正在生成，结束后显示它的 token。</translation>
    </message>
    <message>
      <source>The answer is still being written — Esc stops it</source>
      <translation>回答还在生成：按 Esc 停止</translation>
    </message>
    <message>
      <source>The app crashed last time; the report is {path}.</source>
      <translation>应用上次崩溃了；报告保存在 {path}。</translation>
    </message>
    <message>
      <source>The app ended while an answer was written; what had come is kept.</source>
      <translation>上次应用在生成回答时意外退出；已生成的部分已保留。</translation>
    </message>
    <message>
      <source>The app ended while {n} answers were written; what had come is kept.</source>
      <translation>上次应用在生成 {n} 个回答时意外退出；已生成的部分已保留。</translation>
    </message>
    <message>
      <source>The cache is shown here once a model is loaded.</source>
      <translation>加载模型后，缓存会显示在这里。</translation>
    </message>
    <message>
      <source>The cache of earlier prompts is off: everything is read anew.</source>
      <translation>提示词缓存已关闭：全部重新读取。</translation>
    </message>
    <message>
      <source>The chat goes first. The point under way will be measured again.</source>
      <translation>对话优先。正在测的这一点稍后重测。</translation>
    </message>
    <message>
      <source>The chat was saved as {path}.</source>
      <translation>对话已保存为 {path}。</translation>
    </message>
    <message>
      <source>The complete answer took {ms:.0f} ms to the screen, {share:.0%} of the time.</source>
      <translation>写完的回答过了 {ms:.0f} ms 才显示出来，占总时间的 {share:.0%}。</translation>
    </message>
    <message>
      <source>The connection broke off; going on in a moment</source>
      <translation>连接中断，稍后自动继续</translation>
    </message>
    <message>
      <source>The context ends at {context} tokens; the cache's budget is {budget}.</source>
      <translation>上下文到 {context} 个 token 为止；缓存预算为 {budget}。</translation>
    </message>
    <message>
      <source>The conversations could not be reached ({reason}). What is on the screen stays there. Try again.</source>
      <translation>无法读写对话（{reason}）。屏幕上的内容仍在，请重试。</translation>
    </message>
    <message>
      <source>The conversations were saved by a later version of the app (format {found}, this one reads up to {known}). They were left as they are; what you write now is not saved. Update the app.</source>
      <translation>这些对话由更新版本的应用保存（格式 {found}，本版本最高支持 {known}）。原有对话未作改动，但现在写下的内容不会保存。请更新应用。</translation>
    </message>
    <message>
      <source>The disk is full, so the conversation could not be saved. What is on the screen stays there. Free some space.</source>
      <translation>磁盘已满，对话未能保存。屏幕上的内容仍在，请腾出一些空间。</translation>
    </message>
    <message>
      <source>The download needs {needed} on the disk and {free} is free. What has arrived is kept. Make room, or choose another folder.</source>
      <translation>下载需要 {needed} 磁盘空间，目前只剩 {free}。已下载的部分会保留。请腾出空间，或换一个文件夹。</translation>
    </message>
    <message>
      <source>The engine met a fault of its own; the text so far is kept. Try again; if it fails again, load the model again or with another weight precision.</source>
      <translation>推理引擎自身出错，已有内容已保留。请重试；如果再次失败，请重新加载模型，或换一种权重精度加载。</translation>
    </message>
    <message>
      <source>The engine was ready and had no core for {waited:.0%} of the time: other programs kept {others:.1f} of {cores:.0f} busy, and this window {window:.1f}.</source>
      <translation>有 {waited:.0%} 的时间引擎已就绪却分不到核心：{cores:.0f} 个核心中，其他程序占了 {others:.1f} 个，本窗口占了 {window:.1f} 个。</translation>
    </message>
    <message>
      <source>The file could not be written ({reason}). Choose another place.</source>
      <translation>无法写入文件（{reason}）。请换一个位置。</translation>
    </message>
    <message>
      <source>The file could not be written ({reason}). The chats are kept.</source>
      <translation>无法写入文件（{reason}）。对话都还在。</translation>
    </message>
    <message>
      <source>The first token came {short_ms} after a prompt of {short} tokens, and {long_ms} after one of {long}: each further 1,000 prompt tokens cost about {growth}. Prompts use arithmetic.</source>
      <translation>提示为 {short} 个 token 时，首 token 在 {short_ms} 后出现；为 {long} 个时，在 {long_ms} 后出现：提示每多 1,000 个 token，约多花 {growth}。提示消耗的是算力。</translation>
    </message>
    <message>
      <source>The folder of the conversations cannot be written, so nothing was saved. What is on the screen stays there. Check its permissions.</source>
      <translation>对话所在的文件夹无法写入，内容未保存。屏幕上的内容仍在，请检查该文件夹的权限。</translation>
    </message>
    <message>
      <source>The folder {folder} cannot be used ({reason}). What has arrived is kept. Choose another folder.</source>
      <translation>文件夹 {folder} 无法使用（{reason}）。已下载的部分会保留。请换一个文件夹。</translation>
    </message>
    <message>
      <source>The host of this virtual machine took {stolen:.0%} of the processor time; other programs in it kept {others:.1f} of {cores:.0f} cores busy.</source>
      <translation>本虚拟机的宿主机拿走了 {stolen:.0%} 的处理器时间；虚拟机内的 {cores:.0f} 个核心中，其他程序占了 {others:.1f} 个。</translation>
    </message>
    <message>
      <source>The hub cannot be reached ({reason}). What has arrived is kept. Check the connection and try again.</source>
      <translation>无法连接仓库（{reason}）。已下载的部分会保留。请检查网络后重试。</translation>
    </message>
    <message>
      <source>The hub gets too many requests from here. What has arrived is kept. Try again in some minutes.</source>
      <translation>向仓库发出的请求过多。已下载的部分会保留。请过几分钟再试。</translation>
    </message>
    <message>
      <source>The hub gets too many requests from here. What has arrived is kept. Try again in {n} seconds.</source>
      <translation>向仓库发出的请求过多。已下载的部分会保留。请在 {n} 秒后重试。</translation>
    </message>
    <message>
      <source>The hub has a fault of its own ({reason}). What has arrived is kept. Try again later.</source>
      <translation>仓库自身出现故障（{reason}）。已下载的部分会保留。请稍后重试。</translation>
    </message>
    <message>
      <source>The hub has no {name}, or shows it to invited people only. Check the spelling.</source>
      <translation>仓库中没有 {name}，或者仅对受邀者可见。请检查拼写。</translation>
    </message>
    <message>
      <source>The hub refuses access to {name}. Check the access token in the settings.</source>
      <translation>仓库拒绝访问 {name}。请检查设置中的访问令牌。</translation>
    </message>
    <message>
      <source>The language changes when the app starts again.</source>
      <translation>语言将在下次启动时更改。</translation>
    </message>
    <message>
      <source>The language of the window. A change shows at the next start.</source>
      <translation>界面语言。更改在下次启动时生效。</translation>
    </message>
    <message>
      <source>The last run here took as long, beside other programs: a quiet machine is faster.</source>
      <translation>取自本机上一次测量，当时有其他程序在运行；空闲时会更快。</translation>
    </message>
    <message>
      <source>The makers of {name} want you to accept their terms first. Do that on the hub's page, then put an access token into the settings.</source>
      <translation>{name} 的作者要求先接受其条款。请在仓库网页上接受，然后在设置中填写访问令牌。</translation>
    </message>
    <message>
      <source>The model changed, so the experiment ended early.</source>
      <translation>模型已更换，实验提前结束。</translation>
    </message>
    <message>
      <source>The model file to chat with: a .gguf file, or a folder with safetensors files.</source>
      <translation>用于聊天的模型：一个 .gguf 文件，或包含 safetensors 文件的文件夹。</translation>
    </message>
    <message>
      <source>The model gave its tokens {mean} on average; the least probable is {token} with {least}.</source>
      <translation>模型给这些 token 的概率平均为 {mean}；最低的是 {token}，{least}。</translation>
    </message>
    <message>
      <source>The model is being loaded.</source>
      <translation>正在加载模型。</translation>
    </message>
    <message>
      <source>The model is in {count} files and {part} is missing. Nothing was changed; put all of them in one folder.</source>
      <translation>这个模型分成 {count} 个文件，其中缺少 {part}。没有做任何更改；请把它们放在同一个文件夹里。</translation>
    </message>
    <message>
      <source>The model runs…</source>
      <translation>模型正在运行…</translation>
    </message>
    <message>
      <source>The model that is loaded now gives its memory back first. Other programs hold {size}.</source>
      <translation>已计入当前模型先释放的内存。其他程序占用 {size}。</translation>
    </message>
    <message>
      <source>The model was loaded again since: {lost} tokens were read anew.</source>
      <translation>此后模型重新加载过：{lost} 个 token 重新读取。</translation>
    </message>
    <message>
      <source>The model was loaded with another precision since: {lost} tokens were read anew.</source>
      <translation>此后模型以另一种精度加载：{lost} 个 token 重新读取。</translation>
    </message>
    <message>
      <source>The model was not looked through to its end. Ask again.</source>
      <translation>没能看完整个模型，请再试一次。</translation>
    </message>
    <message>
      <source>The model's chat template could not be applied ({reason}). Your message is kept.</source>
      <translation>无法应用模型的聊天模板（{reason}）。你的消息已保留。</translation>
    </message>
    <message>
      <source>The model's own</source>
      <translation>模型自带</translation>
    </message>
    <message>
      <source>The model's parameters, as they are kept in memory.</source>
      <translation>模型的参数，按其在内存中的形式。</translation>
    </message>
    <message>
      <source>The next question of a chat then reads only what is new. Without it, every question reads the whole conversation again.</source>
      <translation>这样，对话中的下一个问题只需读取新内容；否则每个问题都要重读整个对话。</translation>
    </message>
    <message>
      <source>The one before stays in force.</source>
      <translation>仍使用之前的 Schema。</translation>
    </message>
    <message>
      <source>The other answer was written {n} times as fast as this one.</source>
      <translation>另一个回答的书写速度是本回答的 {n} 倍。</translation>
    </message>
    <message>
      <source>The others are compared with it.</source>
      <translation>其他精度都与它比较。</translation>
    </message>
    <message>
      <source>The picture could not be written to {path}.</source>
      <translation>无法将图片写入 {path}。</translation>
    </message>
    <message>
      <source>The processor runs at {now:.0f} of its {most:.0f} MHz.</source>
      <translation>处理器最高 {most:.0f} MHz，现在只跑到 {now:.0f} MHz。</translation>
    </message>
    <message>
      <source>The program that measures ended without a word.</source>
      <translation>测量程序没有给出原因就结束了。</translation>
    </message>
    <message>
      <source>The prompt: {ms} ms</source>
      <translation>提示：{ms} ms</translation>
    </message>
    <message>
      <source>The repository holds a file with an unsafe name ({name}). Nothing was downloaded.</source>
      <translation>仓库中有名称不安全的文件（{name}）。未下载任何内容。</translation>
    </message>
    <message>
      <source>The same answer with the KV cache, and without it, where time grows with the square.</source>
      <translation>同一回答，用与不用 KV 缓存：不用时，耗时按平方增长。</translation>
    </message>
    <message>
      <source>The saved conversations were damaged and could not be read; the file is kept as {path}.</source>
      <translation>已保存的对话文件损坏，无法读取；原文件保留为 {path}。</translation>
    </message>
    <message>
      <source>The settings could not be saved ({reason}); they apply until the app is closed.</source>
      <translation>设置未能保存（{reason}）；关闭应用前仍然有效。</translation>
    </message>
    <message>
      <source>The size of text and controls. Ctrl with +, - and 0 changes it too.</source>
      <translation>文字和控件的大小。也可以用 Ctrl 加 +、- 和 0 调整。</translation>
    </message>
    <message>
      <source>The start of the dice. The same seed, model and prompt give the same answer again.</source>
      <translation>随机数的起点。种子、模型和提示都相同时，会得到同样的回答。</translation>
    </message>
    <message>
      <source>The time between tokens as an answer grows, and its cache with it.</source>
      <translation>回答变长、缓存随之增大时的 token 间隔。</translation>
    </message>
    <message>
      <source>The time to the first token by the length of the prompt.</source>
      <translation>首 token 时间随提示长度的变化。</translation>
    </message>
    <message>
      <source>The trace could not be written to {path}; choose another file.</source>
      <translation>无法把跟踪写入 {path}，请换一个文件。</translation>
    </message>
    <message>
      <source>The weights take {narrow_bytes} in place of {wide_bytes}.</source>
      <translation>权重占用 {narrow_bytes}，而不是 {wide_bytes}。</translation>
    </message>
    <message>
      <source>The window shows each token {delay:.0f} ms after the engine chose it.</source>
      <translation>引擎选出一个 token 后，窗口要过 {delay:.0f} ms 才显示。</translation>
    </message>
    <message>
      <source>The work around the model takes {share:.0%} of the time between two tokens.</source>
      <translation>两个 token 之间有 {share:.0%} 的时间花在模型之外的工作上。</translation>
    </message>
    <message>
      <source>The work around the model takes {share:.0%} of the time the prompt takes.</source>
      <translation>计算提示时有 {share:.0%} 的时间花在模型之外的工作上。</translation>
    </message>
    <message>
      <source>The {n} most probable here</source>
      <translation>此处最可能的 {n} 个</translation>
    </message>
    <message>
      <source>There is no model at {path}. Nothing was changed; choose another file.</source>
      <translation>{path} 处没有模型。未做任何更改；请选择其他文件。</translation>
    </message>
    <message>
      <source>Thinking…</source>
      <translation>思考中…</translation>
    </message>
    <message>
      <source>This answer waited {ms:.0f} ms for others, {share:.0%} of its time.</source>
      <translation>这个回答为等待其他回答用了 {ms:.0f} ms，占总时间的 {share:.0%}。</translation>
    </message>
    <message>
      <source>This answer was faster than they allow, so something held the machine up when they were measured. Measure again.</source>
      <translation>这次回答快过了这些上限，说明测量时机器被别的事拖慢了。请重新测量。</translation>
    </message>
    <message>
      <source>This answer was written {n} times as fast as the other.</source>
      <translation>本回答的书写速度是另一个的 {n} 倍。</translation>
    </message>
    <message>
      <source>This chat has {tokens} tokens now, which take {size}.</source>
      <translation>本对话现有 {tokens} 个 token，占 {size}。</translation>
    </message>
    <message>
      <source>This choice is a part of a character: the text cannot go on from it.</source>
      <translation>这个选择只是字符的一部分，文字无法从它继续。</translation>
    </message>
    <message>
      <source>This choice stands for no text.</source>
      <translation>这个选择不代表任何文字。</translation>
    </message>
    <message>
      <source>This is the chat's first turn since the model was loaded, so the cache held no more.</source>
      <translation>这是模型加载后这段对话的第一轮，所以缓存里没有更多内容。</translation>
    </message>
    <message>
      <source>This machine could not be measured.</source>
      <translation>无法测量这台机器。</translation>
    </message>
    <message>
      <source>This machine reads {memory} and computes {flops}.</source>
      <translation>本机读取速度 {memory}，算力 {flops}。</translation>
    </message>
    <message>
      <source>This machine's ceilings are not measured yet, and nothing else stands out.</source>
      <translation>本机的性能上限还没有测量，也没有其他明显的原因。</translation>
    </message>
    <message>
      <source>This machine's ceilings are not measured yet. It takes ~20 s, best while nothing else runs.</source>
      <translation>还没有测量这台机器的上限。大约需要 20 秒，最好在没有其他程序运行时进行。</translation>
    </message>
    <message>
      <source>This machine's measured ceilings</source>
      <translation>这台机器实测的上限</translation>
    </message>
    <message>
      <source>This needs {needed} of memory and {available} is free. Choose a shorter context, a smaller precision or a smaller model.</source>
      <translation>这需要 {needed} 内存，而可用的只有 {available}。请选择更短的上下文、更低的精度或更小的模型。</translation>
    </message>
    <message>
      <source>This one: {this}; the other: {other}.</source>
      <translation>本回答：{this}；另一个：{other}。</translation>
    </message>
    <message>
      <source>This place is in the reasoning: only the answer itself can branch.</source>
      <translation>这里属于思考过程，只有回答本身可以分支。</translation>
    </message>
    <message>
      <source>This program as it was before a model was loaded.</source>
      <translation>加载模型之前的本程序。</translation>
    </message>
    <message>
      <source>This prompt needs {needed} tokens; the model reads {limit}. Nothing was sent.</source>
      <translation>这条提示需要 {needed} 个 token，而模型最多读取 {limit} 个。没有发送任何内容。</translation>
    </message>
    <message>
      <source>This schema cannot be used: {reason}.</source>
      <translation>无法使用此 Schema：{reason}。</translation>
    </message>
    <message>
      <source>This takes effect when the model is loaded again.</source>
      <translation>重新加载模型后生效。</translation>
    </message>
    <message>
      <source>This window</source>
      <translation>本窗口</translation>
    </message>
    <message>
      <source>Thorough</source>
      <translation>细致</translation>
    </message>
    <message>
      <source>Thought</source>
      <translation>思考过</translation>
    </message>
    <message>
      <source>Thought for {time}</source>
      <translation>思考了 {time}</translation>
    </message>
    <message>
      <source>Threads</source>
      <translation>线程数</translation>
    </message>
    <message>
      <source>Time (ms)</source>
      <translation>用时 (ms)</translation>
    </message>
    <message>
      <source>Time between tokens</source>
      <translation>token 间隔（ITL）</translation>
    </message>
    <message>
      <source>Time of each part of the model</source>
      <translation>模型各部分的用时</translation>
    </message>
    <message>
      <source>Time of each token</source>
      <translation>每个 token 的时间</translation>
    </message>
    <message>
      <source>Time so far</source>
      <translation>累计时间</translation>
    </message>
    <message>
      <source>Time to the first token</source>
      <translation>首 token 时间（TTFT）</translation>
    </message>
    <message>
      <source>Tint of the answer</source>
      <translation>回答的着色</translation>
    </message>
    <message>
      <source>Tint: from {low} to {high}, stronger for the latter</source>
      <translation>着色：从 {low} 到 {high}，越接近后者越深</translation>
    </message>
    <message>
      <source>Tints the words that were guessed ahead and found right. Known of answers written since the chat was opened.</source>
      <translation>为提前猜中的文字着色。只适用于打开此对话之后写出的回答。</translation>
    </message>
    <message>
      <source>To the end</source>
      <translation>跳到末尾</translation>
    </message>
    <message>
      <source>Today</source>
      <translation>今天</translation>
    </message>
    <message>
      <source>Token of the answer</source>
      <translation>回答的第几个 token</translation>
    </message>
    <message>
      <source>Tokens</source>
      <translation>Token</translation>
    </message>
    <message>
      <source>Tokens written</source>
      <translation>写出的 token</translation>
    </message>
    <message>
      <source>Too few tokens were written to tell what holds them up: {tokens:.0f}.</source>
      <translation>只写了 {tokens:.0f} 个 token，看不出受限于什么。</translation>
    </message>
    <message>
      <source>Too large</source>
      <translation>内存不足</translation>
    </message>
    <message>
      <source>Too little for the context of {n} tokens that is set; {fits} would fit.</source>
      <translation>不够所设的 {n} 个 token 的上下文；可容纳 {fits} 个。</translation>
    </message>
    <message>
      <source>Top-k</source>
      <translation>Top-k</translation>
    </message>
    <message>
      <source>Top-p</source>
      <translation>Top-p</translation>
    </message>
    <message>
      <source>Trace (*.json)</source>
      <translation>跟踪文件 (*.json)</translation>
    </message>
    <message>
      <source>Trace of the latest gaps between tokens</source>
      <translation>最近的 token 间隔曲线</translation>
    </message>
    <message>
      <source>Try again</source>
      <translation>重试</translation>
    </message>
    <message>
      <source>Try it</source>
      <translation>试一试</translation>
    </message>
    <message>
      <source>Try it: {remedy}</source>
      <translation>试一试：{remedy}</translation>
    </message>
    <message>
      <source>Turn it off as an experiment: every token then costs a new reading of everything before it, and long answers slow to a crawl.</source>
      <translation>可以关掉做个实验：此后每生成一个 token 都要重读之前的全部内容，长回答会慢得像爬行。</translation>
    </message>
    <message>
      <source>Turning text into tokens and back took {ms:.0f} ms, {share:.0%} of the time.</source>
      <translation>文本与 token 之间的转换用了 {ms:.0f} ms，占总时间的 {share:.0%}。</translation>
    </message>
    <message>
      <source>Two answers compared</source>
      <translation>两个回答对比</translation>
    </message>
    <message>
      <source>Typical-p</source>
      <translation>Typical-p</translation>
    </message>
    <message>
      <source>Undo</source>
      <translation>撤销</translation>
    </message>
    <message>
      <source>Undo the deletion</source>
      <translation>撤销删除</translation>
    </message>
    <message>
      <source>Unload</source>
      <translation>卸载</translation>
    </message>
    <message>
      <source>Unload it first.</source>
      <translation>请先卸载模型。</translation>
    </message>
    <message>
      <source>Unsure</source>
      <translation>不确定</translation>
    </message>
    <message>
      <source>Unusable</source>
      <translation>无法使用</translation>
    </message>
    <message>
      <source>Up to the context's end</source>
      <translation>直到上下文用完</translation>
    </message>
    <message>
      <source>Use</source>
      <translation>使用</translation>
    </message>
    <message>
      <source>Use of the arithmetic</source>
      <translation>算力利用率</translation>
    </message>
    <message>
      <source>Use the KV cache</source>
      <translation>使用 KV 缓存</translation>
    </message>
    <message>
      <source>Use {name} for the KV cache</source>
      <translation>KV 缓存使用 {name}</translation>
    </message>
    <message>
      <source>Utilisation</source>
      <translation>算力利用率</translation>
    </message>
    <message>
      <source>Value or count</source>
      <translation>数值或个数</translation>
    </message>
    <message>
      <source>Values (CSV)…</source>
      <translation>数据（CSV）…</translation>
    </message>
    <message>
      <source>Version</source>
      <translation>版本</translation>
    </message>
    <message>
      <source>Version {place}</source>
      <translation>版本 {place}</translation>
    </message>
    <message>
      <source>Views of the inspector</source>
      <translation>检视器的各个视图</translation>
    </message>
    <message>
      <source>Virtual machine held back</source>
      <translation>虚拟机被宿主机拖慢</translation>
    </message>
    <message>
      <source>Vocabulary</source>
      <translation>词表</translation>
    </message>
    <message>
      <source>Wait for the answer to end.</source>
      <translation>请等回答结束。</translation>
    </message>
    <message>
      <source>Waiting for the engine…</source>
      <translation>正在等待推理引擎…</translation>
    </message>
    <message>
      <source>Waits for its turn</source>
      <translation>排队等待</translation>
    </message>
    <message>
      <source>Waits until the precisions are measured.</source>
      <translation>正在测量各精度，等它结束后继续。</translation>
    </message>
    <message>
      <source>Warming up</source>
      <translation>预热中</translation>
    </message>
    <message>
      <source>Weight precision</source>
      <translation>权重精度</translation>
    </message>
    <message>
      <source>Weight precisions for this model</source>
      <translation>此模型的各种权重精度</translation>
    </message>
    <message>
      <source>Weights</source>
      <translation>权重</translation>
    </message>
    <message>
      <source>What</source>
      <translation>项目</translation>
    </message>
    <message>
      <source>What a full context would take</source>
      <translation>整个上下文要占多少</translation>
    </message>
    <message>
      <source>What a running answer feels of a long prompt, by the size of its pieces.</source>
      <translation>长提示按不同大小分段读入时，正在进行的回答受到的影响。</translation>
    </message>
    <message>
      <source>What both prompts share is too short to be kept.</source>
      <translation>两次提示词相同的部分太短，不予保留。</translation>
    </message>
    <message>
      <source>What differs between the two runs</source>
      <translation>两次运行的差异</translation>
    </message>
    <message>
      <source>What each loses is measured by a thorough run.</source>
      <translation>各自损失多少，由细致的运行来测量。</translation>
    </message>
    <message>
      <source>What holds this answer up is told with its first tokens.</source>
      <translation>写出最初几个 token 后，这里会说明回答受限于什么。</translation>
    </message>
    <message>
      <source>What is the cache for?</source>
      <translation>缓存有什么用？</translation>
    </message>
    <message>
      <source>What several answers get together, what each feels, and how busy arithmetic is.</source>
      <translation>多个回答合计的速度、各自的间隔，以及算力的利用率。</translation>
    </message>
    <message>
      <source>What the machine did meanwhile</source>
      <translation>这期间机器的状态</translation>
    </message>
    <message>
      <source>What the model is told before every conversation, for example how to answer. It costs tokens of the context.</source>
      <translation>每次对话之前先告诉模型的话，例如应当如何回答。它会占用上下文的 token。</translation>
    </message>
    <message>
      <source>What the model is told before this chat, from the next answer on. Empty: the system prompt of the settings.</source>
      <translation>从下一个回答起，在此对话开始前告诉模型的内容。留空则使用设置中的系统提示。</translation>
    </message>
    <message>
      <source>What the model still reads then. Nothing is ever deleted, and each answer says what it did not see.</source>
      <translation>此时模型还读哪些内容。任何消息都不会被删除，每个回答都会说明它没有看到什么。</translation>
    </message>
    <message>
      <source>What these {n} tokens would take</source>
      <translation>这 {n} 个 token 要占多少</translation>
    </message>
    <message>
      <source>What they must send as their API key. Without one, a new key is made; switching this on shows it.</source>
      <translation>它们必须把它作为 API 密钥发送。留空会生成新密钥；开启时会显示出来。</translation>
    </message>
    <message>
      <source>What weights and cache may take of the graphics card. Layers that do not fit in it run on the processor, which is slower.</source>
      <translation>权重和缓存最多可占用的显存。放不下的层在 CPU 上运行，速度较慢。</translation>
    </message>
    <message>
      <source>When the conversation outgrows the context</source>
      <translation>当对话超出上下文时</translation>
    </message>
    <message>
      <source>Where</source>
      <translation>位置</translation>
    </message>
    <message>
      <source>Where in the model?</source>
      <translation>花在模型的哪里？</translation>
    </message>
    <message>
      <source>Where it was tried, exactly as many were let in.</source>
      <translation>在实际尝试的长度上，放入的数目与计算完全一致。</translation>
    </message>
    <message>
      <source>Where it was tried, the number let in differed by at most {n}.</source>
      <translation>在实际尝试的长度上，放入的数目与计算最多相差 {n}。</translation>
    </message>
    <message>
      <source>Where models are downloaded from; a mirror, for example. Empty takes the usual hub.</source>
      <translation>从哪里下载模型，例如某个镜像。留空则使用默认仓库。</translation>
    </message>
    <message>
      <source>Where the time went</source>
      <translation>时间花在哪里</translation>
    </message>
    <message>
      <source>Where the window and its parts are.</source>
      <translation>窗口及其各部分的位置。</translation>
    </message>
    <message>
      <source>Which tokens</source>
      <translation>显示哪些 token</translation>
    </message>
    <message>
      <source>Whole answer</source>
      <translation>整个回答</translation>
    </message>
    <message>
      <source>Will it fit?</source>
      <translation>内存够用吗？</translation>
    </message>
    <message>
      <source>Window</source>
      <translation>窗口</translation>
    </message>
    <message>
      <source>Window layout</source>
      <translation>窗口布局</translation>
    </message>
    <message>
      <source>Window: a token is on the screen {p50} ms after its choice, at most {max} ms ({n} paints).</source>
      <translation>窗口：token 选出后 {p50} ms 显示在屏幕上，最长 {max} ms（{n} 次绘制）。</translation>
    </message>
    <message>
      <source>Window: nothing of this answer was seen being painted.</source>
      <translation>窗口：没有记录到这个回答的显示时间。</translation>
    </message>
    <message>
      <source>With pieces of {small} tokens a running answer waits at most {small_stall} and the prompt {small_ttft}; with the prompt in one piece it is {large_stall} and {large_ttft}.</source>
      <translation>每段 {small} 个 token 时，进行中的回答最多等待 {small_stall}，提示需 {small_ttft}；整段读入时分别为 {large_stall} 和 {large_ttft}。</translation>
    </message>
    <message>
      <source>With tokens guessed ahead, answers come {parts}.</source>
      <translation>提前猜测 token 后，回答的速度{parts}。</translation>
    </message>
    <message>
      <source>With {narrow}, {share} of the next tokens are those of full precision.</source>
      <translation>使用 {narrow} 时，{share} 的下一个 token 与全精度相同。</translation>
    </message>
    <message>
      <source>Without a core</source>
      <translation>等待核心</translation>
    </message>
    <message>
      <source>Without shared heads</source>
      <translation>不共享头</translation>
    </message>
    <message>
      <source>Without the KV cache each token computes about {known:.0f} tokens anew.</source>
      <translation>关闭 KV 缓存后，每个 token 都要重算约 {known:.0f} 个 token。</translation>
    </message>
    <message>
      <source>Without the window</source>
      <translation>不用窗口</translation>
    </message>
    <message>
      <source>Working out what it needs…</source>
      <translation>正在计算所需内存…</translation>
    </message>
    <message>
      <source>Write a Python function that finds the longest word.</source>
      <translation>写一个找出最长单词的 Python 函数。</translation>
    </message>
    <message>
      <source>Write owner/name, as on the hub's page.</source>
      <translation>请按网页上的写法输入：作者/名称。</translation>
    </message>
    <message>
      <source>Writing</source>
      <translation>输入</translation>
    </message>
    <message>
      <source>Written to {folder}: {names}</source>
      <translation>已写入 {folder}：{names}</translation>
    </message>
    <message>
      <source>Yesterday</source>
      <translation>昨天</translation>
    </message>
    <message>
      <source>Your chats will be listed here.</source>
      <translation>你的对话会显示在这里。</translation>
    </message>
    <message>
      <source>Your folders and those of other programs are looked through.</source>
      <translation>正在查看你的文件夹和其他程序的文件夹。</translation>
    </message>
    <message>
      <source>Your message</source>
      <translation>你的消息</translation>
    </message>
    <message>
      <source>Zoom</source>
      <translation>缩放</translation>
    </message>
    <message>
      <source>all</source>
      <translation>合计</translation>
    </message>
    <message>
      <source>an experiment</source>
      <translation>实验</translation>
    </message>
    <message>
      <source>an untitled chat</source>
      <translation>未命名的对话</translation>
    </message>
    <message>
      <source>and {n} shorter one</source>
      <translation>还有 {n} 次更短的</translation>
    </message>
    <message>
      <source>and {n} shorter ones</source>
      <translation>还有 {n} 次更短的</translation>
    </message>
    <message>
      <source>another prompt was computed</source>
      <translation>在计算另一个提示</translation>
    </message>
    <message>
      <source>at byte {number}</source>
      <translation>起于字节 {number}</translation>
    </message>
    <message>
      <source>at most {ms} ms</source>
      <translation>最长 {ms} ms</translation>
    </message>
    <message>
      <source>attention</source>
      <translation>注意力</translation>
    </message>
    <message>
      <source>attention's products</source>
      <translation>注意力的矩阵乘</translation>
    </message>
    <message>
      <source>battery</source>
      <translation>电池</translation>
    </message>
    <message>
      <source>before token {n}</source>
      <translation>在第 {n} 个 token 之前</translation>
    </message>
    <message>
      <source>before tokens {first} to {last}</source>
      <translation>在第 {first} 到 {last} 个 token 之前</translation>
    </message>
    <message>
      <source>begins {time} ms after Send</source>
      <translation>发送后 {time} ms 开始</translation>
    </message>
    <message>
      <source>budget</source>
      <translation>预算</translation>
    </message>
    <message>
      <source>bytes {digits}</source>
      <translation>字节 {digits}</translation>
    </message>
    <message>
      <source>cache off</source>
      <translation>缓存已关闭</translation>
    </message>
    <message>
      <source>cache {kind}</source>
      <translation>缓存 {kind}</translation>
    </message>
    <message>
      <source>calculated</source>
      <translation>计算值</translation>
    </message>
    <message>
      <source>cause not known</source>
      <translation>原因不明</translation>
    </message>
    <message>
      <source>change</source>
      <translation>变化</translation>
    </message>
    <message>
      <source>chat</source>
      <translation>对话</translation>
    </message>
    <message>
      <source>chat template</source>
      <translation>对话模板</translation>
    </message>
    <message>
      <source>chunk {number}</source>
      <translation>第 {number} 块</translation>
    </message>
    <message>
      <source>chunk {number} of {count}</source>
      <translation>第 {number} 块，共 {count} 块</translation>
    </message>
    <message>
      <source>code</source>
      <translation>代码</translation>
    </message>
    <message>
      <source>compressed</source>
      <translation>压缩</translation>
    </message>
    <message>
      <source>computes</source>
      <translation>计算</translation>
    </message>
    <message>
      <source>context full</source>
      <translation>上下文已满</translation>
    </message>
    <message>
      <source>context {n}</source>
      <translation>上下文 {n}</translation>
    </message>
    <message>
      <source>cores busy with other programs</source>
      <translation>个核心被其他程序占用</translation>
    </message>
    <message>
      <source>could not be loaded</source>
      <translation>无法加载</translation>
    </message>
    <message>
      <source>decode</source>
      <translation>解码</translation>
    </message>
    <message>
      <source>decode {rate}</source>
      <translation>解码 {rate}</translation>
    </message>
    <message>
      <source>detokenise</source>
      <translation>转成文本</translation>
    </message>
    <message>
      <source>displaced</source>
      <translation>已被挤出</translation>
    </message>
    <message>
      <source>draft {name}</source>
      <translation>草稿 {name}</translation>
    </message>
    <message>
      <source>earlier answer</source>
      <translation>先前的回答</translation>
    </message>
    <message>
      <source>embedding</source>
      <translation>嵌入</translation>
    </message>
    <message>
      <source>en</source>
      <translation>zh_CN</translation>
    </message>
    <message>
      <source>ended by itself</source>
      <translation>自然结束</translation>
    </message>
    <message>
      <source>failed</source>
      <translation>失败</translation>
    </message>
    <message>
      <source>first paint</source>
      <translation>首次显示</translation>
    </message>
    <message>
      <source>first sample</source>
      <translation>首次采样</translation>
    </message>
    <message>
      <source>first token {time}</source>
      <translation>首个 token {time}</translation>
    </message>
    <message>
      <source>folded</source>
      <translation>已折叠</translation>
    </message>
    <message>
      <source>free</source>
      <translation>空闲</translation>
    </message>
    <message>
      <source>from a token's choice to the screen</source>
      <translation>是从选出 token 到显示的时间</translation>
    </message>
    <message>
      <source>full</source>
      <translation>全部</translation>
    </message>
    <message>
      <source>full power</source>
      <translation>全速</translation>
    </message>
    <message>
      <source>gap</source>
      <translation>间隔</translation>
    </message>
    <message>
      <source>gaps</source>
      <translation>个数</translation>
    </message>
    <message>
      <source>head</source>
      <translation>输出头</translation>
    </message>
    <message>
      <source>id {number}</source>
      <translation>id {number}</translation>
    </message>
    <message>
      <source>in use</source>
      <translation>使用中</translation>
    </message>
    <message>
      <source>in {n} chunks</source>
      <translation>，分 {n} 块</translation>
    </message>
    <message>
      <source>incomplete</source>
      <translation>未完成</translation>
    </message>
    <message>
      <source>is the processor's frequency under load</source>
      <translation>是处理器在负载下的频率</translation>
    </message>
    <message>
      <source>its cache had been given up to other answers</source>
      <translation>它的缓存让给了其他回答</translation>
    </message>
    <message>
      <source>kept for reuse</source>
      <translation>保留待复用</translation>
    </message>
    <message>
      <source>kept, no chat's</source>
      <translation>保留，无所属</translation>
    </message>
    <message>
      <source>layer {n}</source>
      <translation>第 {n} 层</translation>
    </message>
    <message>
      <source>load</source>
      <translation>加载</translation>
    </message>
    <message>
      <source>longest</source>
      <translation>最长</translation>
    </message>
    <message>
      <source>mains</source>
      <translation>外接电源</translation>
    </message>
    <message>
      <source>mean {ms} ms</source>
      <translation>平均 {ms} ms</translation>
    </message>
    <message>
      <source>measured</source>
      <translation>实测值</translation>
    </message>
    <message>
      <source>measuring…</source>
      <translation>正在测量…</translation>
    </message>
    <message>
      <source>model load</source>
      <translation>加载模型</translation>
    </message>
    <message>
      <source>model reloaded</source>
      <translation>模型已重新加载</translation>
    </message>
    <message>
      <source>no answer in time</source>
      <translation>迟迟没有响应</translation>
    </message>
    <message>
      <source>no connection</source>
      <translation>没有连接</translation>
    </message>
    <message>
      <source>no draft</source>
      <translation>无草稿</translation>
    </message>
    <message>
      <source>none</source>
      <translation>无</translation>
    </message>
    <message>
      <source>none loaded</source>
      <translation>未加载</translation>
    </message>
    <message>
      <source>norms</source>
      <translation>归一化</translation>
    </message>
    <message>
      <source>not stated</source>
      <translation>未注明</translation>
    </message>
    <message>
      <source>nothing</source>
      <translation>无</translation>
    </message>
    <message>
      <source>now</source>
      <translation>现在</translation>
    </message>
    <message>
      <source>of each token's time is reading from slower memory</source>
      <translation>的 token 时间在读取较慢的内存</translation>
    </message>
    <message>
      <source>of each token's time is reading, at this machine's ceiling</source>
      <translation>的 token 时间在读取（按本机上限）</translation>
    </message>
    <message>
      <source>of the processor time the host took</source>
      <translation>的处理器时间被宿主机拿走</translation>
    </message>
    <message>
      <source>of the time is work around the model</source>
      <translation>的时间是模型之外的工作</translation>
    </message>
    <message>
      <source>of the time spent on text and tokens</source>
      <translation>的时间在转换文本和 token</translation>
    </message>
    <message>
      <source>of the time spent on the prompt</source>
      <translation>的时间在计算提示</translation>
    </message>
    <message>
      <source>of the time spent on the screen</source>
      <translation>的时间在显示</translation>
    </message>
    <message>
      <source>of the time spent waiting</source>
      <translation>的时间在等待</translation>
    </message>
    <message>
      <source>of the time the engine had no core</source>
      <translation>的时间引擎分不到核心</translation>
    </message>
    <message>
      <source>of what a token reads came back from the disk</source>
      <translation>的读取内容来自磁盘</translation>
    </message>
    <message>
      <source>on this computer</source>
      <translation>本机已有</translation>
    </message>
    <message>
      <source>other</source>
      <translation>其他</translation>
    </message>
    <message>
      <source>other chats</source>
      <translation>其他对话</translation>
    </message>
    <message>
      <source>other model</source>
      <translation>换了模型</translation>
    </message>
    <message>
      <source>other precision</source>
      <translation>换了精度</translation>
    </message>
    <message>
      <source>other programs</source>
      <translation>其他程序</translation>
    </message>
    <message>
      <source>other programs had the processor</source>
      <translation>处理器被其他程序占用</translation>
    </message>
    <message>
      <source>output product</source>
      <translation>输出投影</translation>
    </message>
    <message>
      <source>owner/name</source>
      <translation>作者/名称</translation>
    </message>
    <message>
      <source>p50 {p50} · p95 {p95} · max {max} ms</source>
      <translation>p50 {p50} · p95 {p95} · 最大 {max} ms</translation>
    </message>
    <message>
      <source>p50 {p50} · p95 {p95} · p99 {p99} · max {max} ms</source>
      <translation>p50 {p50} · p95 {p95} · p99 {p99} · 最长 {max} ms</translation>
    </message>
    <message>
      <source>parts of the program were read back from the disk</source>
      <translation>程序的一部分要从磁盘读回</translation>
    </message>
    <message>
      <source>prefill</source>
      <translation>预填充</translation>
    </message>
    <message>
      <source>prefill {rate}</source>
      <translation>预填充 {rate}</translation>
    </message>
    <message>
      <source>prompt</source>
      <translation>提示词</translation>
    </message>
    <message>
      <source>prose</source>
      <translation>普通文章</translation>
    </message>
    <message>
      <source>queue</source>
      <translation>排队</translation>
    </message>
    <message>
      <source>random text, with n-grams</source>
      <translation>随机文本（n-gram）</translation>
    </message>
    <message>
      <source>reached the token limit</source>
      <translation>达到 token 上限</translation>
    </message>
    <message>
      <source>reading the prompt: {done} of {total} tokens</source>
      <translation>正在读取提示：{done} / {total} 个 token</translation>
    </message>
    <message>
      <source>reads</source>
      <translation>读取</translation>
    </message>
    <message>
      <source>ready</source>
      <translation>就绪</translation>
    </message>
    <message>
      <source>repeating text</source>
      <translation>重复的文本</translation>
    </message>
    <message>
      <source>reserved, not used</source>
      <translation>已预留未使用</translation>
    </message>
    <message>
      <source>room for {n} tokens</source>
      <translation>可容纳 {n} 个 token</translation>
    </message>
    <message>
      <source>rotation, cache</source>
      <translation>旋转与写缓存</translation>
    </message>
    <message>
      <source>sample</source>
      <translation>采样</translation>
    </message>
    <message>
      <source>sampling</source>
      <translation>采样</translation>
    </message>
    <message>
      <source>sampling, other</source>
      <translation>采样与其他</translation>
    </message>
    <message>
      <source>saving mode</source>
      <translation>节能模式</translation>
    </message>
    <message>
      <source>shared by chats</source>
      <translation>对话间共享</translation>
    </message>
    <message>
      <source>shown</source>
      <translation>已展开</translation>
    </message>
    <message>
      <source>so far</source>
      <translation>至今</translation>
    </message>
    <message>
      <source>special</source>
      <translation>特殊</translation>
    </message>
    <message>
      <source>stopped at a stop string</source>
      <translation>遇到停止字符串</translation>
    </message>
    <message>
      <source>stopped by you</source>
      <translation>已由你停止</translation>
    </message>
    <message>
      <source>system prompt</source>
      <translation>系统提示</translation>
    </message>
    <message>
      <source>template</source>
      <translation>模板</translation>
    </message>
    <message>
      <source>text changed</source>
      <translation>文本有变</translation>
    </message>
    <message>
      <source>the address is not valid</source>
      <translation>地址无效</translation>
    </message>
    <message>
      <source>the answer is not a hub's</source>
      <translation>对方不是模型仓库</translation>
    </message>
    <message>
      <source>the connection broke off</source>
      <translation>连接中断</translation>
    </message>
    <message>
      <source>the graphics card</source>
      <translation>显卡</translation>
    </message>
    <message>
      <source>the host of this virtual machine had the processor</source>
      <translation>处理器被本虚拟机的宿主机占用</translation>
    </message>
    <message>
      <source>the mean: steps give several tokens at once</source>
      <translation>平均值：每步会一次给出几个 token</translation>
    </message>
    <message>
      <source>the other</source>
      <translation>另一个</translation>
    </message>
    <message>
      <source>the processor</source>
      <translation>处理器</translation>
    </message>
    <message>
      <source>the processor ran below its speed</source>
      <translation>处理器降频运行</translation>
    </message>
    <message>
      <source>the program itself</source>
      <translation>程序本身</translation>
    </message>
    <message>
      <source>the system does not say</source>
      <translation>系统未提供</translation>
    </message>
    <message>
      <source>this</source>
      <translation>本回答</translation>
    </message>
    <message>
      <source>this answer</source>
      <translation>这个回答</translation>
    </message>
    <message>
      <source>this chat</source>
      <translation>当前对话</translation>
    </message>
    <message>
      <source>this chat {used} of {limit} tok</source>
      <translation>当前对话 {used} / {limit} token</translation>
    </message>
    <message>
      <source>thorough</source>
      <translation>细致</translation>
    </message>
    <message>
      <source>today</source>
      <translation>今天</translation>
    </message>
    <message>
      <source>token</source>
      <translation>token</translation>
    </message>
    <message>
      <source>token {n}: {ms} ms, {cause}</source>
      <translation>第 {n} 个 token：{ms} ms，{cause}</translation>
    </message>
    <message>
      <source>tokenise</source>
      <translation>分词</translation>
    </message>
    <message>
      <source>tokens</source>
      <translation>token</translation>
    </message>
    <message>
      <source>tokens computed a second time</source>
      <translation>个 token 被重复计算</translation>
    </message>
    <message>
      <source>tokens computed anew for each token</source>
      <translation>个 token 为每个 token 重算</translation>
    </message>
    <message>
      <source>tokens {first} to {last}</source>
      <translation>第 {first} 到 {last} 个 token</translation>
    </message>
    <message>
      <source>tokens {first} to {last} of the prompt</source>
      <translation>提示的第 {first} 到 {last} 个 token</translation>
    </message>
    <message>
      <source>weights</source>
      <translation>权重</translation>
    </message>
    <message>
      <source>while the model decodes</source>
      <translation>与解码同时进行</translation>
    </message>
    <message>
      <source>whole answer</source>
      <translation>整个回答</translation>
    </message>
    <message>
      <source>window</source>
      <translation>窗口</translation>
    </message>
    <message>
      <source>with guesses</source>
      <translation>猜测</translation>
    </message>
    <message>
      <source>with the cache</source>
      <translation>使用缓存</translation>
    </message>
    <message>
      <source>without guesses</source>
      <translation>不猜测</translation>
    </message>
    <message>
      <source>without the cache</source>
      <translation>不用缓存</translation>
    </message>
    <message>
      <source>working</source>
      <translation>运算</translation>
    </message>
    <message>
      <source>working memory</source>
      <translation>工作内存</translation>
    </message>
    <message>
      <source>yes</source>
      <translation>有</translation>
    </message>
    <message>
      <source>your message</source>
      <translation>你的消息</translation>
    </message>
    <message>
      <source>{author} wrote this answer; its tokens are shown as {reader} reads them.</source>
      <translation>这个回答由 {author} 写成；这里的 token 是 {reader} 的读法。</translation>
    </message>
    <message>
      <source>{cached} of {total} prompt tokens came from the cache.</source>
      <translation>{total} 个提示 token 中有 {cached} 个来自缓存。</translation>
    </message>
    <message>
      <source>{cached} of {total} prompt tokens from cache</source>
      <translation>{total} 个提示 token 中 {cached} 个来自缓存</translation>
    </message>
    <message>
      <source>{cause}: tokens {tokens}</source>
      <translation>{cause}：{tokens} token</translation>
    </message>
    <message>
      <source>{computed} tokens computed, {cached} from the cache</source>
      <translation>计算 {computed} 个 token，{cached} 个来自缓存</translation>
    </message>
    <message>
      <source>{count} answers at once get {all} together in place of {one}, {factor} times as much, and each waits {all_ms} for a token in place of {one_ms}.</source>
      <translation>{count} 个回答同时进行，合计速度从 {one} 变为 {all}，是原来的 {factor} 倍；每个回答等一个 token 的时间从 {one_ms} 变为 {all_ms}。</translation>
    </message>
    <message>
      <source>{count} tokens are computed after the answer being written.</source>
      <translation>等正在生成的回答结束后，计算 {count} 个 token。</translation>
    </message>
    <message>
      <source>{count} tokens took {short} with the cache and {long} without it: {factor} times as long. Without it, each new token reads everything before it again, so its time grows with the answer, and the total with the square of its length.</source>
      <translation>{count} 个 token 用缓存耗时 {short}，不用则为 {long}，是其 {factor} 倍。不用缓存时，每个新 token 都要把之前的内容重读一遍，所以单个耗时随回答变长，总耗时按长度的平方增长。</translation>
    </message>
    <message>
      <source>{count} · the context is full: earlier messages will be left out</source>
      <translation>{count} · 上下文已满：将略去较早的消息</translation>
    </message>
    <message>
      <source>{count} · {left} left in the context</source>
      <translation>{count} · 上下文还剩 {left}</translation>
    </message>
    <message>
      <source>{count} · {over} too many for the context of {limit}</source>
      <translation>{count} · 超出上下文（{limit}）{over} 个</translation>
    </message>
    <message>
      <source>{count}, still looking…</source>
      <translation>{count}，仍在查找…</translation>
    </message>
    <message>
      <source>{depth}, {time}</source>
      <translation>{depth}，{time}</translation>
    </message>
    <message>
      <source>{device}, {threads} threads</source>
      <translation>{device}，{threads} 线程</translation>
    </message>
    <message>
      <source>{done} of {total}</source>
      <translation>{done} / {total}</translation>
    </message>
    <message>
      <source>{factor} times as fast on {text}</source>
      <translation>在{text}上为 {factor} 倍</translation>
    </message>
    <message>
      <source>{first} {second}</source>
      <translation>{first}{second}</translation>
    </message>
    <message>
      <source>{folder} cannot be read ({reason}). Check its permissions.</source>
      <translation>无法读取 {folder}（{reason}）。请检查其权限。</translation>
    </message>
    <message>
      <source>{folder} could not be opened.</source>
      <translation>无法打开 {folder}。</translation>
    </message>
    <message>
      <source>{folder} is not there now. If it is on another drive, connect that and search again.</source>
      <translation>{folder} 现在不存在。如果它在另一块硬盘上，请接上后再次搜索。</translation>
    </message>
    <message>
      <source>{guessed} of {total} tokens were guessed</source>
      <translation>{total} 个 token 中有 {guessed} 个是猜中的</translation>
    </message>
    <message>
      <source>{heads}, {kv_heads} for KV</source>
      <translation>{heads}，KV 头 {kv_heads}</translation>
    </message>
    <message>
      <source>{kind} (so far)</source>
      <translation>{kind}（目前）</translation>
    </message>
    <message>
      <source>{layers} layers, {heads} heads, {kv_heads} KV heads</source>
      <translation>{layers} 层，{heads} 个注意力头，{kv_heads} 个 KV 头</translation>
    </message>
    <message>
      <source>{layers} that see everything</source>
      <translation>{layers}，回看全部内容</translation>
    </message>
    <message>
      <source>{layers} that see {n} tokens</source>
      <translation>{layers}，回看 {n} 个 token</translation>
    </message>
    <message>
      <source>{layers} with a compressed cache</source>
      <translation>{layers}，压缩缓存</translation>
    </message>
    <message>
      <source>{lost:.0f} of the {computed:.0f} prompt tokens that were computed missed the cache.</source>
      <translation>计算的 {computed:.0f} 个提示 token 中，有 {lost:.0f} 个本可来自缓存。</translation>
    </message>
    <message>
      <source>{low} ms and more</source>
      <translation>{low} ms 以上</translation>
    </message>
    <message>
      <source>{low} to {high}</source>
      <translation>{low} 至 {high}</translation>
    </message>
    <message>
      <source>{low} to {high} ms</source>
      <translation>{low} 到 {high} ms</translation>
    </message>
    <message>
      <source>{ms} ms</source>
      <translation>{ms} ms</translation>
    </message>
    <message>
      <source>{name} (automatic)</source>
      <translation>{name}（自动）</translation>
    </message>
    <message>
      <source>{name} KV cache</source>
      <translation>{name} KV 缓存</translation>
    </message>
    <message>
      <source>{name} arrived damaged (its checksum is wrong) and was thrown away. Download it again.</source>
      <translation>{name} 下载后已损坏（校验和不符），文件已删除。请重新下载。</translation>
    </message>
    <message>
      <source>{name} calibrated</source>
      <translation>{name} 校准</translation>
    </message>
    <message>
      <source>{name} could not be measured.</source>
      <translation>无法测量 {name}。</translation>
    </message>
    <message>
      <source>{name} holds no GGUF or safetensors model.</source>
      <translation>{name} 中没有 GGUF 或 safetensors 模型。</translation>
    </message>
    <message>
      <source>{name} is damaged or incomplete ({reason}). Nothing was changed; get the file again or choose another.</source>
      <translation>{name} 已损坏或不完整（{reason}）。未做任何更改；请重新获取该文件或选择其他模型。</translation>
    </message>
    <message>
      <source>{name} uses {feature}, which this version cannot run. Nothing was changed; choose another model.</source>
      <translation>{name} 使用了当前版本不支持的 {feature}。未做任何更改；请选择其他模型。</translation>
    </message>
    <message>
      <source>{name} weights</source>
      <translation>{name} 权重</translation>
    </message>
    <message>
      <source>{name}, as it is now</source>
      <translation>{name}（现在）</translation>
    </message>
    <message>
      <source>{name}, chosen for the next load</source>
      <translation>{name}（下次加载时使用）</translation>
    </message>
    <message>
      <source>{name}: {share} of what is possible at {intensity}.</source>
      <translation>{name}：在 {intensity} 处达到上限的 {share}。</translation>
    </message>
    <message>
      <source>{name}: {size}</source>
      <translation>{name}：{size}</translation>
    </message>
    <message>
      <source>{narrow} writes {narrow_rate} and {wide} {wide_rate}: {factor} times as fast.</source>
      <translation>{narrow} 的速度为 {narrow_rate}，{wide} 为 {wide_rate}，前者是后者的 {factor} 倍。</translation>
    </message>
    <message>
      <source>{now} of {most} GHz</source>
      <translation>{now} / {most} GHz</translation>
    </message>
    <message>
      <source>{now} °C; the limit is {most} °C</source>
      <translation>{now} °C；上限 {most} °C</translation>
    </message>
    <message>
      <source>{number} bits</source>
      <translation>{number} 比特</translation>
    </message>
    <message>
      <source>{number} of {count}</source>
      <translation>第 {number} 项，共 {count} 项</translation>
    </message>
    <message>
      <source>{n} ({ms} ms)</source>
      <translation>第 {n} 个（{ms} ms）</translation>
    </message>
    <message>
      <source>{n} MiB of the graphics card</source>
      <translation>显卡上用 {n} MiB</translation>
    </message>
    <message>
      <source>{n} answers at once</source>
      <translation>同时写 {n} 个回答</translation>
    </message>
    <message>
      <source>{n} are stalls.</source>
      <translation>其中 {n} 次卡顿。</translation>
    </message>
    <message>
      <source>{n} block</source>
      <translation>{n} 个块</translation>
    </message>
    <message>
      <source>{n} blocks</source>
      <translation>{n} 个块</translation>
    </message>
    <message>
      <source>{n} chat</source>
      <translation>{n} 个对话</translation>
    </message>
    <message>
      <source>{n} chats</source>
      <translation>{n} 个对话</translation>
    </message>
    <message>
      <source>{n} chats were added.</source>
      <translation>已添加 {n} 个对话。</translation>
    </message>
    <message>
      <source>{n} chats were saved as {path}.</source>
      <translation>{n} 个对话已保存为 {path}。</translation>
    </message>
    <message>
      <source>{n} days ago</source>
      <translation>{n} 天前</translation>
    </message>
    <message>
      <source>{n} earlier messages ({tokens} tokens) were left out of this answer</source>
      <translation>这个回答没有看到较早的 {n} 条消息（{tokens} 个 token）</translation>
    </message>
    <message>
      <source>{n} file</source>
      <translation>{n} 个文件</translation>
    </message>
    <message>
      <source>{n} files</source>
      <translation>{n} 个文件</translation>
    </message>
    <message>
      <source>{n} gap</source>
      <translation>{n} 个间隔</translation>
    </message>
    <message>
      <source>{n} gaps</source>
      <translation>{n} 个间隔</translation>
    </message>
    <message>
      <source>{n} gaps between tokens: half take at most {p50} ms, 95% at most {p95} ms, the longest {max} ms.</source>
      <translation>共 {n} 个 token 间隔：一半不超过 {p50} ms，95% 不超过 {p95} ms，最长 {max} ms。</translation>
    </message>
    <message>
      <source>{n} is a stall.</source>
      <translation>其中 {n} 次卡顿。</translation>
    </message>
    <message>
      <source>{n} layer</source>
      <translation>{n} 层</translation>
    </message>
    <message>
      <source>{n} layer on the CPU</source>
      <translation>{n} 层在 CPU 上</translation>
    </message>
    <message>
      <source>{n} layers</source>
      <translation>{n} 层</translation>
    </message>
    <message>
      <source>{n} layers on the CPU</source>
      <translation>{n} 层在 CPU 上</translation>
    </message>
    <message>
      <source>{n} model</source>
      <translation>{n} 个模型</translation>
    </message>
    <message>
      <source>{n} models</source>
      <translation>{n} 个模型</translation>
    </message>
    <message>
      <source>{n} of {cores} cores busy</source>
      <translation>{cores} 个核中有 {n} 个在忙</translation>
    </message>
    <message>
      <source>{n} of {total} layers would run on the processor.</source>
      <translation>{total} 层中有 {n} 层会在 CPU 上运行。</translation>
    </message>
    <message>
      <source>{n} point was measured again, because the chat went first</source>
      <translation>因对话优先，有 {n} 个点重测</translation>
    </message>
    <message>
      <source>{n} points were measured again, because the chat went first</source>
      <translation>因对话优先，有 {n} 个点重测</translation>
    </message>
    <message>
      <source>{n} prompt token</source>
      <translation>{n} 个提示 token</translation>
    </message>
    <message>
      <source>{n} prompt tokens</source>
      <translation>{n} 个提示 token</translation>
    </message>
    <message>
      <source>{n} threads</source>
      <translation>{n} 线程</translation>
    </message>
    <message>
      <source>{n} times</source>
      <translation>{n} 倍</translation>
    </message>
    <message>
      <source>{n} tok</source>
      <translation>{n} tok</translation>
    </message>
    <message>
      <source>{n} token</source>
      <translation>{n} 个 token</translation>
    </message>
    <message>
      <source>{n} tokens</source>
      <translation>{n} 个 token</translation>
    </message>
    <message>
      <source>{n} tokens a step</source>
      <translation>每步 {n} 个 token</translation>
    </message>
    <message>
      <source>{one} and {other}: {what} within 5% the same.</source>
      <translation>{one} 与 {other}：{what}相差不到 5%。</translation>
    </message>
    <message>
      <source>{other} against {one}: {what} {change}.</source>
      <translation>{other} 相对 {one}：{what} {change}。</translation>
    </message>
    <message>
      <source>{part} same token</source>
      <translation>{part} 首选一致</translation>
    </message>
    <message>
      <source>{path} could not be moved to the trash; it was left as it is.</source>
      <translation>无法把 {path} 移到回收站，文件未作任何改动。</translation>
    </message>
    <message>
      <source>{precision} fits.</source>
      <translation>换成 {precision} 就够用。</translation>
    </message>
    <message>
      <source>{prompt} in the prompt, {answer} in the answer.</source>
      <translation>提示有 {prompt}，回答有 {answer}。</translation>
    </message>
    <message>
      <source>{remedy}. {result}</source>
      <translation>{remedy}。{result}</translation>
    </message>
    <message>
      <source>{right} of {drafted} guesses right</source>
      <translation>{drafted} 次猜测中对了 {right} 次</translation>
    </message>
    <message>
      <source>{sentence} Possible: {names}.</source>
      <translation>{sentence}可能是：{names}。</translation>
    </message>
    <message>
      <source>{share} of the processor time</source>
      <translation>{share} 的处理器时间</translation>
    </message>
    <message>
      <source>{share} of the time</source>
      <translation>{share} 的时间</translation>
    </message>
    <message>
      <source>{share} of what is possible there</source>
      <translation>为该处上限的 {share}</translation>
    </message>
    <message>
      <source>{size} a token</source>
      <translation>每个 token {size}</translation>
    </message>
    <message>
      <source>{size} in all</source>
      <translation>共 {size}</translation>
    </message>
    <message>
      <source>{size} on the disk:
{paths}</source>
      <translation>占用磁盘 {size}：
{paths}</translation>
    </message>
    <message>
      <source>{size} · cannot be used</source>
      <translation>{size} · 无法使用</translation>
    </message>
    <message>
      <source>{size} · reading…</source>
      <translation>{size} · 正在读取…</translation>
    </message>
    <message>
      <source>{threads} threads on {cores} cores</source>
      <translation>{threads} 个线程，{cores} 个核</translation>
    </message>
    <message>
      <source>{time} left</source>
      <translation>剩余 {time}</translation>
    </message>
    <message>
      <source>{title}, answering</source>
      <translation>{title}，正在回答</translation>
    </message>
    <message>
      <source>{title}, special</source>
      <translation>{title}，特殊</translation>
    </message>
    <message>
      <source>{title}, {share} of it {name}.</source>
      <translation>{title}，其中 {share} 是{name}。</translation>
    </message>
    <message>
      <source>{total} prompt tokens</source>
      <translation>{total} 个提示 token</translation>
    </message>
    <message>
      <source>{used} of {whole} hold something</source>
      <translation>{whole} 中 {used} 存有内容</translation>
    </message>
    <message>
      <source>{used} tokens (trained for {trained})</source>
      <translation>{used} 个 token（训练长度 {trained}）</translation>
    </message>
    <message>
      <source>{value} ms</source>
      <translation>{value} 毫秒</translation>
    </message>
    <message>
      <source>{value} s</source>
      <translation>{value} 秒</translation>
    </message>
    <message>
      <source>{value} tokens/s</source>
      <translation>{value} token/秒</translation>
    </message>
    <message>
      <source>{vocab} tokens of {hidden} values</source>
      <translation>{vocab} 个 token，每个 {hidden} 维</translation>
    </message>
    <message>
      <source>{what}: predicted ~{predicted} times as fast, measured {measured}.</source>
      <translation>{what}速度：预计 ~{predicted} 倍，实测 {measured} 倍。</translation>
    </message>
    <message>
      <source>~ Not all ids of this answer are known: these were found again from its text.</source>
      <translation>~ 这个回答的 id 并非全部已知：它们是由文字重新得出的。</translation>
    </message>
    <message>
      <source>~{gain} times as fast</source>
      <translation>~{gain} 倍速度</translation>
    </message>
    <message>
      <source>~{gain} times the speed of steps without guesses (~{time} each)</source>
      <translation>速度约为不猜测时的 {gain} 倍（不猜测时每步约 {time}）</translation>
    </message>
    <message>
      <source>~{n} h</source>
      <translation>约 {n} 小时</translation>
    </message>
    <message>
      <source>~{n} min</source>
      <translation>约 {n} 分钟</translation>
    </message>
    <message>
      <source>~{n} s</source>
      <translation>约 {n} 秒</translation>
    </message>
    <message>
      <source>~{n} tokens/s at full context</source>
      <translation>上下文占满时约 {n} token/秒</translation>
    </message>
    <message>
      <source>~{n} turns left</source>
      <translation>约剩 {n} 轮</translation>
    </message>
    <message>
      <source>~{seconds} s left</source>
      <translation>约剩 {seconds} 秒</translation>
    </message>
    <message>
      <source>~{short_streams} answers of {short} tokens have room in the cache at once, and ~{long_streams} of {long}: context is not free.</source>
      <translation>缓存可同时容纳 ~{short_streams} 个 {short} token 的回答，或 ~{long_streams} 个 {long} token 的回答：上下文不是免费的。</translation>
    </message>
    <message>
      <source>~{size}</source>
      <translation>约 {size}</translation>
    </message>
    <message>
      <source>“{name}” is not a repository. Write owner/name, as on the hub's page.</source>
      <translation>“{name}”不是仓库名。请按网页上的写法输入：作者/名称。</translation>
    </message>
    <message>
      <source>“{title}”</source>
      <translation>“{title}”</translation>
    </message>
    <message>
      <source>“{title}” is being measured: {progress}</source>
      <translation>正在测量“{title}”：{progress}</translation>
    </message>
    <message>
      <source>“{words}”</source>
      <translation>“{words}”</translation>
    </message>
    <message>
      <source>简体中文</source>
      <translation>简体中文</translation>
    </message>
  </context>
</TS>
