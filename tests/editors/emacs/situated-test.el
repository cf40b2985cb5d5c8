;;; situated-test.el --- Tests of the situated editor plugin  -*- lexical-binding: t; -*-

;; emacs --batch -Q -L src/cli/editor/plugins/emacs -l tests/editors/emacs/situated-test.el \
;;   -f ert-run-tests-batch-and-exit

;;; Code:

(require 'ert)
(require 'situated)
(require 'situated-related)

(setq make-backup-files nil create-lockfiles nil auto-save-default nil)

(defvar test-limit (string-to-number (or (getenv "SITUATED_TEST_LIMIT") "30")))
(defvar test-base (file-truename (make-temp-file "situated" t)))
(defvar test-root (expand-file-name "my notes" test-base))
(defvar test-server nil)
(defvar test-clients nil)
(defvar test-requests nil "Newest first.")
(defvar test-count 0)
(defvar test-vault "notes" "What the daemon calls its vault.")
(make-directory test-root)
(add-hook 'kill-emacs-hook (lambda () (delete-directory test-base t)))

(defun test-wait (what condition)
  "Wait until CONDITION holds; WHAT says what that is."
  (let ((end (+ (float-time) test-limit)))
    (while (not (funcall condition))
      (when (> (float-time) end)
        (error "Waited in vain for %s" what))
      (accept-process-output nil 0.01))))

(defun test-send (process message)
  (process-send-string process (concat (encode-coding-string (json-encode message) 'utf-8) "\n")))

(defun test-stop ()
  (when test-server (delete-process test-server))
  (mapc #'delete-process test-clients)
  (setq test-server nil test-clients nil))

(defun test-serve (handle)
  "Be a daemon that calls HANDLE with a process and a request; return its socket."
  (test-stop)
  (setq test-requests nil)
  (let ((path (expand-file-name (format "s%d" (setq test-count (1+ test-count))) test-base)))
    (setq test-server
          (make-network-process
           :name "fake" :server t :family 'local :service path :noquery t :coding 'no-conversion
           :sentinel (lambda (process _) (push process test-clients))
           :filter
           (lambda (process text)
             (let* ((whole (concat (process-get process 'rest) text))
                    (lines (split-string whole "\n")))
               (process-put process 'rest (car (last lines)))
               (dolist (line (butlast lines))
                 (let ((request (situated-client--parse line)))
                   (push request test-requests)
                   (pcase (alist-get 'method request)
                     ("hello" (test-send process `((id . ,(alist-get 'id request))
                                                   (result . ((vaults . [((name . ,test-vault) (path . ,test-root))]))))))
                     ((or "ping" "subscribe") (test-send process `((id . ,(alist-get 'id request)) (result . ,(make-hash-table)))))
                     ("cancel")
                     (_ (funcall handle process request)))))))))
    (setenv "SITUATED_SOCKET" path)
    path))

(defun test-hit (path line &optional title)
  `((vault . "notes") (path . ,path) (line . 1) (match_line . ,line) (title . ,(or title path))
    (heading_path . [,(or title path) "Part"]) (snippet . "a snippet")))

(defun test-answer (process request &rest hits)
  (test-send process `((id . ,(alist-get 'id request))
                       (result . ((hits . ,(vconcat hits)) (warnings . []))))))

(defun test-asked (method)
  (reverse (seq-filter (lambda (request) (equal method (alist-get 'method request))) test-requests)))

(defun test-param (request name)
  (alist-get name (alist-get 'params request)))

(defun test-write (name &rest lines)
  (let ((coding-system-for-write 'utf-8))
    (write-region (concat (string-join lines "\n") "\n") nil (concat test-root "/" name) nil 'quiet)))

(defun test-list (search)
  (with-current-buffer (situated--search-buffer search)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun test-listed (search words)
  (condition-case nil
      (test-wait words (lambda () (string-match-p (regexp-quote words) (test-list search))))
    (error (error "Waited in vain for %S in the list, which holds %S" words (test-list search)))))

(defmacro test-searching (search &rest body)
  "Run BODY with SEARCH, a search without a minibuffer."
  (declare (indent 1))
  `(let ((,search (situated--begin)))
     (unwind-protect (progn ,@body)
       (situated--end ,search)
       (test-stop))))

(defvar test-awaited nil "Words that the key `<f12>' waits for in the list.")
(define-key situated-search-map (kbd "<f12>")
  (lambda () (interactive) (test-listed situated--search test-awaited)))

(defun test-type (awaited keys)
  "Search with KEYS in a true minibuffer; `<f12>' among them waits for AWAITED."
  (let ((test-awaited awaited))
    (execute-kbd-macro (vconcat [?\M-x] "situated-search" [?\r] keys))))

(ert-deftest situated-large-answer-in-small-pieces ()
  (let* ((text (apply #'concat (make-list 12000 "Blässhuhn 水鳥 "))) got)
    (test-serve (lambda (process request)
                  (let ((line (concat (encode-coding-string
                                       ;; As the daemon writes it: not escaped.
                                       (format "{\"id\":%d,\"result\":{\"text\":\"%s\"}}" (alist-get 'id request) text)
                                       'utf-8)
                                      "\n"))
                        (at 0))
                    (should (> (length line) 200000))
                    (while (< at (length line))
                      (process-send-string process (substring line at (min (length line) (+ at 64))))
                      (setq at (+ at 64))))))
    (let ((client (situated-client-make)))
      (situated-client-request client "get" nil (lambda (result failure) (setq got (list result failure))))
      (test-wait "the answer" (lambda () got))
      (should (equal (alist-get 'text (car got)) text))
      (should-not (cadr got))
      (situated-client-close client)
      (test-stop))))

(ert-deftest situated-framing-is-linear ()
  (dolist (size '(200000 2000000))
    (let* ((sent (encode-coding-string (concat (make-string size ?x) "\n\naü\u2028c\nrest") 'utf-8))
           (scanned 0) (joined 0) (at 0) pieces lines
           (find situated-client--find) (join situated-client--join)
           (situated-client--find
            (lambda (text from)
              (let ((stop (funcall find text from)))
                (setq scanned (+ scanned (- (if stop (1+ stop) (length text)) from)))
                stop)))
           (situated-client--join
            (lambda (parts)
              (let ((line (funcall join parts)))
                (setq joined (+ joined (length line)))
                line))))
      (while (< at (length sent))
        (setq pieces (situated-client--lines pieces (substring sent at (min (length sent) (+ at 64)))
                                             (lambda (line) (push line lines)))
              at (+ at 64)))
      (should (equal (mapcar #'length (reverse lines)) (list size 0 7)))
      (should (equal (decode-coding-string (car lines) 'utf-8) "aü\u2028c"))
      (should (<= scanned (length sent)))
      (should (<= joined (length sent))))))

(ert-deftest situated-connection-lost-within-an-answer ()
  (let ((broken t))
    (test-serve (lambda (process request)
                  (if (not broken)
                      (test-answer process request (test-hit "Heron.md" 3))
                    (setq broken nil)
                    (process-send-string process "{\"id\":1,\"result\":{\"hits\":[")
                    (delete-process process))))
    (test-searching search
      (situated--ask search "heron")
      (test-listed search "ended the connection")
      (situated--ask search "herons")
      (test-listed search "Heron.md:3"))))

(ert-deftest situated-nonsense-is-reported ()
  (test-serve (lambda (process _) (process-send-string process "HTTP/1.1 400\n")))
  (test-searching search
    (situated--ask search "heron")
    (test-listed search "does not speak as situated does")))

(ert-deftest situated-error-shows-message-and-hint ()
  (test-serve (lambda (process request)
                (test-send process `((id . ,(alist-get 'id request))
                                     (error . ((code . 1010) (message . "the index\e[31m failed %s")
                                               (data . ((kind . "storage") (hint . "rebuild it")))))))))
  (test-searching search
    (situated--ask search "heron")
    (test-listed search "rebuild it")
    (should (equal (test-list search) "the index?[31m failed %s\nrebuild it\n"))))

(ert-deftest situated-late-answer-is-dropped ()
  (let (first)
    (test-serve (lambda (process request)
                  (if (not first)
                      (setq first request)
                    (test-answer process request (test-hit "New.md" 2))
                    (test-answer process first (test-hit "Old.md" 1)))))
    (test-searching search
      (situated--ask search "old")
      (test-wait "the first request" (lambda () first))
      (situated--ask search "new")
      (test-listed search "New.md:2")
      (situated--ask search "new again") ; its answer comes behind the late one
      (test-wait "the third answer" (lambda () (not (situated--search-request search))))
      (should-not (string-match-p "Old" (test-list search)))
      (should (equal (test-param (car (test-asked "cancel")) 'id) (alist-get 'id first)))
      (should (eq t (test-param (car (test-asked "search")) 'prefix))))))

(dolist (name '("--help.md" "a b%#.md" "it's \"q\" | quit!.md" "$HOME `x` *.md" "two\nlines.md" "~x[1]\\ {y}.md" "(é水.md"))
  (eval
   `(ert-deftest ,(intern (format "situated-opens-%s" (situated--plain name))) ()
      (test-write ,name "one" "two" "three" "four")
      (test-serve (lambda (process request) (test-answer process request (test-hit ,name 3))))
      (unwind-protect
          (progn
            (test-type "a snippet" (vconcat "three" [f12 ?\r]))
            (should (equal buffer-file-name (concat test-root "/" ,name)))
            (should (= 3 (line-number-at-pos)))
            (should (looking-at-p "three"))
            (should (equal (test-param (car (last (test-asked "search"))) 'query) "three"))
            (kill-buffer))
        (test-stop)))
   t))

(ert-deftest situated-keys-move-and-open-in-another-window ()
  (test-write "A.md" "a" "b")
  (test-write "B.md" "a" "b")
  (test-serve (lambda (process request)
                (test-answer process request (test-hit "A.md" 1) (test-hit "B.md" 2))))
  (delete-other-windows)
  (test-type "B.md:2" (vconcat "b" [f12 ?\C-n down ?\C-p up ?\C-n ?\C-o]))
  (should (equal (buffer-name) "B.md"))
  (should (= 2 (line-number-at-pos)))
  (should (= 2 (length (window-list))))
  (delete-other-windows)
  (should-not (seq-filter (lambda (buffer) (string-prefix-p "*situated*" (buffer-name buffer))) (buffer-list)))
  (condition-case nil (test-type "B.md:2" (vconcat "b" [f12 ?\C-g])) (quit nil))
  (should-not (seq-filter (lambda (buffer) (string-prefix-p "*situated*" (buffer-name buffer))) (buffer-list)))
  (test-stop))

(ert-deftest situated-control-characters-are-harmless ()
  (test-serve (lambda (process request)
                (test-answer process request
                             (test-hit "x\e]0;y\a.md" 1 "<b>&\e[2J\u009b\nnext\u202erev\u2028\0"))))
  (test-searching search
    (situated--ask search "x")
    (test-listed search "snippet")
    (should (equal (test-list search) "<b>&?[2J? next?rev?? › Part\n  x?]0;y?.md:1  a snippet\n"))))

(defun test-pane ()
  (with-current-buffer situated-related--name
    (buffer-substring-no-properties (point-min) (point-max))))

(defun test-paned (words)
  (condition-case nil
      (test-wait words (lambda () (string-match-p (regexp-quote words) (test-pane))))
    (error (error "Waited in vain for %S in the window, which holds %S" words (test-pane)))))

(defun test-near (process request)
  (test-answer process request
               (test-hit "near.md" 2 (format "Near %s %s %d" (test-param request 'path) (test-param request 'line)
                                             (length (test-asked "related"))))))

(defmacro test-with-pane (handle &rest body)
  (declare (indent 1))
  `(let (pane-open)
     (mapc (lambda (name) (test-write name "a" "b")) '("A.md" "B.md" "near.md" "unknown.md"))
     (test-serve ,handle)
     (delete-other-windows)
     (find-file (concat test-root "/A.md"))
     (goto-char (point-min))
     (unwind-protect
         (progn (situated-related) (setq pane-open t) ,@body)
       (when (and pane-open (get-buffer situated-related--name)) (situated-related))
       (dolist (buffer (buffer-list))
         (when (buffer-file-name buffer)
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (kill-buffer buffer)))
       (test-stop))))

(ert-deftest situated-related-follows-and-refreshes ()
  (test-with-pane #'test-near
    (test-paned "Near A.md 1 1")
    (find-file (concat test-root "/B.md"))
    (goto-char (point-min))
    (situated-related--idle)
    (test-paned "Near B.md 1 2")
    (situated-related--idle)            ; nothing has moved: not asked again
    (insert "x")
    (save-buffer)
    (test-paned "Near B.md 1 3")
    (should (equal "notes" (test-param (car (test-asked "related")) 'vault)))
    (test-send (car test-clients) '((method . "event") (params . ((kind . "index") (seq . 2)))))
    (test-paned "Near B.md 1 4")
    (select-window (get-buffer-window situated-related--name))
    (goto-char (point-min))
    (situated-related-open)
    (should (equal (buffer-name) "near.md"))
    (should (= 2 (line-number-at-pos)))
    (should-not (eq (selected-window) (get-buffer-window situated-related--name)))
    (situated-related)
    (should-not (get-buffer situated-related--name))
    (should-not situated-related--client)))

(ert-deftest situated-related-comes-back-after-it-was-hidden ()
  (test-with-pane #'test-near
    (test-paned "Near A.md 1 1")
    (delete-other-windows)
    (find-file (concat test-root "/B.md"))
    (goto-char (point-min))
    (situated-related--idle)            ; nobody would see the answer
    (test-send (car test-clients) '((method . "event") (params . ((kind . "index") (seq . 2)))))
    (accept-process-output nil 0.1)
    (should (= 1 (length (test-asked "related"))))
    (situated-related)
    (should (get-buffer-window situated-related--name))
    (test-paned "Near B.md 1 2")
    (situated-related)
    (should-not (get-buffer situated-related--name))))

(ert-deftest situated-related-after-a-vault-was-renamed ()
  (test-with-pane #'test-near
    (test-paned "Near A.md 1 1")
    (let ((test-vault "office"))
      (mapc #'delete-process test-clients)
      (test-wait "the end" (lambda () (not (situated-client-state situated-related--client))))
      (find-file (concat test-root "/B.md"))
      (goto-char (point-min))
      (situated-related--idle)
      (test-paned "Near B.md 1 2")
      (should (equal "office" (test-param (cadr (test-asked "related")) 'vault))))))

(ert-deftest situated-opens-no-new-file ()
  (test-searching search
    (test-serve #'ignore)
    (setf (situated-client-roots (situated--search-client search)) `(("notes" . ,test-root)))
    (should-error (situated--open (situated--search-client search) '((vault . "notes") (path . "gone\uf7ff.md")) nil)
                  :type 'user-error)))

(ert-deftest situated-hint-is-said-once ()
  (test-serve (lambda (process request)
                (test-send process `((id . ,(alist-get 'id request))
                                     (error . ((message . "vault `x' is not known; there are: notes")
                                               (data . ((hint . "there are: notes")))))))))
  (test-searching search
    (situated--ask search "heron")
    (test-listed search "is not known")
    (should (equal "vault `x' is not known; there are: notes\n" (test-list search)))))

(ert-deftest situated-related-is-quietly-empty ()
  (test-with-pane
      (lambda (process request)
        (if (equal (test-param request 'path) "unknown.md")
            (test-send process `((id . ,(alist-get 'id request))
                                 (error . ((message . "no such note") (data . ((kind . "not_found")))))))
          (test-near process request)))
    (dolist (other (list (expand-file-name "outside.md" test-base) (concat test-root "/unknown.md")))
      (test-paned "Near A.md")
      (find-file other)
      (situated-related--idle)
      (test-wait "an empty window" (lambda () (and (not situated-related--request) (equal (test-pane) ""))))
      (find-file (concat test-root "/A.md"))
      (situated-related--idle))))

(ert-deftest situated-daemon-away ()
  (let ((path (test-serve (lambda (process request) (test-answer process request (test-hit "Heron.md" 3))))))
    (setenv "SITUATED_SOCKET" (expand-file-name "none" test-base))
    (test-searching search
      (situated--ask search "heron")
      (test-listed search "situated run VAULT")
      (test-listed search "situated service install")
      (setenv "SITUATED_SOCKET" path)
      (situated--ask search "herons")
      (test-listed search "Heron.md:3"))))

(ert-deftest situated-socket-is-asked-of-the-program ()
  (let ((path (test-serve (lambda (process request) (test-answer process request (test-hit "Heron.md" 3)))))
        (fake (expand-file-name "fake" test-base))
        (situated-command (expand-file-name "missing" test-base)))
    (setenv "SITUATED_SOCKET" nil)
    (write-region (format "#!/bin/sh\n[ $# = 1 ] && [ $1 = socket ] && echo '%s'\n" path) nil fake nil 'quiet)
    (set-file-modes fake #o755)
    (test-searching search
      (situated--ask search "heron")
      (test-listed search "does not say where the daemon is")
      (setq situated-command fake)
      (situated--ask search "heron")
      (test-listed search "Heron.md:3"))
    (setq situated-client--found nil)))

(when (getenv "SITUATED_TEST_SOCKET")
  (let ((socket (getenv "SITUATED_TEST_SOCKET")))
    (ert-deftest situated-real-daemon ()
      (setenv "SITUATED_SOCKET" socket)
      (let ((expected (getenv "SITUATED_TEST_EXPECT")))
        (should (string-match "\\`\\(.*\\):\\([0-9]+\\)\\'" expected))
        (let ((file (expand-file-name (match-string 1 expected) (file-truename (getenv "SITUATED_TEST_VAULT"))))
              (line (string-to-number (match-string 2 expected))))
          (test-type expected (vconcat (getenv "SITUATED_TEST_QUERY") [f12 ?\r]))
          (should (equal (file-truename buffer-file-name) file))
          (should (= line (line-number-at-pos)))
          (situated-related)
          (test-wait "related notes" (lambda () (string-match-p ":[0-9]+ " (test-pane))))
          (situated-related))))))

;;; situated-test.el ends here
