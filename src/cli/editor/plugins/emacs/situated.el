;;; situated.el --- The situated editor plugin: search notes while typing  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: convenience, files, matching

;;; Commentary:

;; `situated-search' searches while you type in the minibuffer;
;; `situated-related' shows the notes near the one that is edited.
;; Both ask the daemon of situated, which `situated run VAULT' starts.

;;; Code:

(require 'situated-client)
(require 'subr-x)

(defcustom situated-vault nil
  "Name of the vault to search; all if nil."
  :type '(choice (const :tag "All" nil) string)
  :group 'situated)

(defcustom situated-limit 20
  "Hits of a search."
  :type 'integer
  :group 'situated)

(defcustom situated-related-limit 10
  "Notes in the related window."
  :type 'integer
  :group 'situated)

(defcustom situated-debounce 0.03
  "Seconds between the last key and the request."
  :type 'number
  :group 'situated)

;;; Hits

(defun situated--plain (text)
  "Return TEXT as one line that is safe to show.
Control characters, and those that turn the direction of writing
around, would draw something else than what is there."
  (replace-regexp-in-string
   "[\0-\x1f\x7f\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]" "?"
   (replace-regexp-in-string "[\n\t]" " " (substring-no-properties (or text "")) t t) t t))

(defun situated--line (hit)
  "Return the line at which a program opens HIT."
  (let ((line (or (alist-get 'match_line hit) 0)))
    (if (> line 0) line (or (alist-get 'line hit) 1)))) ; older daemons have no `match_line'

(defun situated--title (hit)
  "Return HIT's title and headings."
  (let* ((title (alist-get 'title hit))
         (headings (alist-get 'heading_path hit)))
    ;; The first heading mostly is the title.
    (mapconcat #'situated--plain
               (cons title (if (equal (car headings) title) (cdr headings) headings)) " › ")))

(defun situated--insert (hits)
  "Show HITS in the current buffer."
  (let ((inhibit-read-only t))
    (erase-buffer)
    (dolist (hit hits)
      (insert (propertize (concat (propertize (situated--title hit) 'face 'bold) "\n  "
                                  (propertize (format "%s:%d" (situated--plain (alist-get 'path hit))
                                                      (situated--line hit))
                                              'face 'font-lock-doc-face)
                                  "  " (situated--plain (alist-get 'snippet hit)) "\n")
                          'situated-hit hit)))
    (goto-char (point-min))))

(defun situated--insert-failure (failure)
  "Show FAILURE in the current buffer: what is wrong, then what to do."
  (let ((inhibit-read-only t))
    (erase-buffer)
    (insert (propertize (situated--plain (alist-get 'message failure)) 'face 'error) "\n")
    (when (alist-get 'hint failure)
      (insert (situated--plain (alist-get 'hint failure)) "\n"))
    (goto-char (point-min))))

(defun situated--open (client hit other-window)
  "Visit HIT of CLIENT at its line, in another window if OTHER-WINDOW."
  (let ((root (cdr (assoc (alist-get 'vault hit) (situated-client-roots client)))))
    (unless root
      (user-error "The daemon did not say where this note's vault lies"))
    (let* ((file (concat (file-name-as-directory root) (alist-get 'path hit)))
           (buffer (progn
                     ;; It is gone, or its name is no UTF-8: a new file of that name would be none of the vault's notes.
                     (unless (file-exists-p file)
                       (user-error "There is no file %s" (situated--plain file)))
                     ;; Without the argument WILDCARDS the name is taken as it is, whatever it holds.
                     (find-file-noselect file))))
      (if other-window (switch-to-buffer-other-window buffer) (pop-to-buffer-same-window buffer))
      (push-mark nil t)
      (widen)
      (goto-char (point-min))
      (forward-line (1- (situated--line hit))))))

(define-derived-mode situated-hits-mode special-mode "Situated"
  "Major mode of buffers that show hits."
  (setq truncate-lines t)
  (setq-local bidi-paragraph-direction 'left-to-right))

;;; Search

(cl-defstruct (situated--search (:copier nil))
  client buffer query request timer hits overlay
  (chosen 0)
  (accepted nil))                       ; `here' or `other', once the user has decided

(defvar situated--search nil
  "The search whose minibuffer is open.")

(defun situated--choose (search place)
  "Make the hit at PLACE the chosen one of SEARCH."
  (setq place (max 0 (min place (1- (length (situated--search-hits search))))))
  (setf (situated--search-chosen search) place)
  (with-current-buffer (situated--search-buffer search)
    (goto-char (point-min))
    (forward-line (* 2 place))
    (move-overlay (situated--search-overlay search) (point)
                  (if (situated--search-hits search) (line-beginning-position 3) (point)))
    (dolist (window (get-buffer-window-list nil t t))
      (set-window-point window (point)))))

(defun situated--show (search hits)
  "Show HITS in the buffer of SEARCH."
  (setf (situated--search-hits search) hits)
  (with-current-buffer (situated--search-buffer search)
    (situated--insert hits))
  (situated--choose search 0))

(defun situated--answered (search result failure)
  "Show RESULT or FAILURE of the newest request of SEARCH."
  (setf (situated--search-request search) nil)
  (situated--show search (alist-get 'hits result))
  (with-current-buffer (situated--search-buffer search)
    (cond (failure
           (setf (situated--search-query search) nil) ; the same words may be asked again
           (situated--insert-failure failure))
          ((null (situated--search-hits search))
           (situated--insert-failure
            `((message . "Nothing found.")
              (hint . ,(and (alist-get 'warnings result)
                            (string-join (alist-get 'warnings result) " ")))))))))

(defun situated--ask (search query)
  "Ask for QUERY in SEARCH.
The request before is cancelled, and its answer dropped if it comes still."
  (unless (equal query (situated--search-query search))
    (setf (situated--search-query search) query)
    (let ((client (situated--search-client search)))
      (when (situated--search-request search)
        (situated-client-cancel client (situated--search-request search))
        (setf (situated--search-request search) nil))
      (if (string-blank-p query)
          (situated--show search nil)
        (setf (situated--search-request search)
              (situated-client-request
               client "search"
               `((query . ,query) (prefix . t) (limit . ,situated-limit)
                 ,@(and situated-vault `((vault . ,situated-vault))))
               (lambda (result failure) (situated--answered search result failure))))))))

(defun situated--typed ()
  "Ask for what stands in the minibuffer, once no key has come for a moment."
  (let ((search situated--search) (query (minibuffer-contents-no-properties)))
    (unless (equal query (situated--search-query search))
      (when (situated--search-timer search)
        (cancel-timer (situated--search-timer search)))
      (setf (situated--search-timer search)
            (run-at-time situated-debounce nil #'situated--ask search query)))))

(defun situated-next (&optional count)
  "Choose the next hit, or the COUNT-th next."
  (interactive "p")
  (situated--choose situated--search (+ (situated--search-chosen situated--search) (or count 1))))

(defun situated-previous (&optional count)
  "Choose the previous hit, or the COUNT-th previous."
  (interactive "p")
  (situated-next (- (or count 1))))

(defun situated-accept (&optional other-window)
  "Open the chosen hit, in another window if OTHER-WINDOW.
Ask again if there is none."
  (interactive)
  (if (null (situated--search-hits situated--search))
      (progn (setf (situated--search-query situated--search) nil)
             (situated--ask situated--search (minibuffer-contents-no-properties)))
    (setf (situated--search-accepted situated--search) (if other-window 'other 'here))
    (exit-minibuffer)))

(defun situated-accept-other-window ()
  "Open the chosen hit in another window."
  (interactive)
  (situated-accept t))

(defvar situated-search-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map minibuffer-local-map)
    (dolist (key '("C-n" "<down>")) (define-key map (kbd key) #'situated-next))
    (dolist (key '("C-p" "<up>")) (define-key map (kbd key) #'situated-previous))
    (define-key map (kbd "RET") #'situated-accept)
    (define-key map (kbd "C-o") #'situated-accept-other-window)
    map)
  "Keys of the minibuffer while searching.")

(defun situated--begin ()
  "Return a new search with its buffer."
  (let ((buffer (generate-new-buffer "*situated*")))
    (with-current-buffer buffer
      (situated-hits-mode)
      (let ((overlay (make-overlay 1 1)))
        (overlay-put overlay 'face 'highlight)
        (make-situated--search :client (situated-client-make) :buffer buffer :overlay overlay)))))

(defun situated--end (search)
  "Give back what SEARCH holds; its hits stay."
  (when (situated--search-timer search)
    (cancel-timer (situated--search-timer search)))
  (situated-client-close (situated--search-client search))
  (let ((window (get-buffer-window (situated--search-buffer search))))
    (when window (quit-window t window)))
  (when (buffer-live-p (situated--search-buffer search))
    (kill-buffer (situated--search-buffer search))))

;;;###autoload
(defun situated-search (&optional query)
  "Search notes while typing, beginning with QUERY.
\\<situated-search-map>\\[situated-next] and \\[situated-previous] choose, \
\\[situated-accept] opens the note at the line,
\\[situated-accept-other-window] in another window."
  (interactive)
  (let ((search (situated--begin)))
    (unwind-protect
        (minibuffer-with-setup-hook
            (lambda ()
              (setq-local situated--search search)
              (add-hook 'post-command-hook #'situated--typed nil t)
              (situated--typed))
          (display-buffer (situated--search-buffer search)
                          '(display-buffer-in-side-window (side . bottom) (window-height . 0.4)))
          (read-from-minibuffer "Notes: " query situated-search-map))
      (situated--end search))
    (when (situated--search-accepted search)
      (situated--open (situated--search-client search)
                      (nth (situated--search-chosen search) (situated--search-hits search))
                      (eq (situated--search-accepted search) 'other)))))

(autoload 'situated-related "situated-related" "Show or hide the notes near this one." t)

(provide 'situated)
;;; situated.el ends here
