"""Templates for measuring. Written before the engine was tuned; its misses are not looked at."""

TEXT = [
    "PROGRESS NOTE\nPt {name} is POD 2 from laparoscopic cholecystectomy. Afebrile, incisions clean, tolerating clear liquids. MRN {mrn}. Drain output 40 mL serous. Plan: advance diet, discharge {date} if stable. Her husband {relative} will drive. Attending: {doctor}",
    "Referral letter\n\nRe: {name}, date of birth {dob}, of {address}\n\nThank you for seeing this pleasant patient with refractory migraine. Trials of topiramate and propranolol failed. MRI brain unremarkable. I can be reached on {phone} or at {email}.\n\nKind regards,\n{doctor}",
    "Physical therapy evaluation: {first} ambulated 50 feet with rolling walker and contact guard. Goals reviewed with {relative}, who is the caregiver. Home is a two-story house at {street} in {city}. Next session {date}. Therapist {nurse}.",
    "Social work: spoke with {relative_first}, the patient's sister, at {phone}. She states {name} stopped taking warfarin two weeks ago. Insurance policy number {plan}; social security number {ssn}. Referred to Medicaid office.",
    "ED triage {date} 14:35: {old_age} yo brought by ambulance from {city} after syncope. EKG sinus bradycardia, troponin negative. Next of kin {relative}. Bed {room}. Medical record {mrn}.",
    "Operative report. Surgeon: Dr. {doctor}. Assistant: {nurse}. Implant: total knee prosthesis, serial no. {device}. Estimated blood loss 150 mL. {last} was transferred to recovery in stable condition at 1120.",
    "Hi {first}, this is a reminder about your colonoscopy on {date}. Stop clopidogrel five days before. Log in at {url} with your email {email} to fill in the form. Questions? Call {phone}.",
    "Oncology tumor board: case {case}, {name}, stage IIIB non-small cell lung cancer, PD-L1 60%. Recommend carboplatin, pemetrexed and pembrolizumab. Dr. {doctor_last} to discuss with family; son {relative} lives in {city}.",
    "Billing inquiry: guarantor {relative}, credit card or account {account}, disputes the invoice for {name} (DOB {dob}). Mail to {address}. Fax the itemized statement to {fax}.",
    "Police report attached: car registration {plate}, VIN {vin}, driver license {licence}. {name} sustained rib fractures and a small pneumothorax; chest tube not required. Witness {nurse}, mobile {phone}.",
    "Hospice visit. {first} is comfortable on morphine 5 mg every four hours, mottling of the knees noted. Family including {relative_first} and {relative} present. Chaplain offered support. On-call nurse {nurse} notified.",
    "Telehealth session from IP {ip} on {date}. {name} confirms the address {street}, {zip} {city}. Asthma well controlled on budesonide inhaler, no nocturnal awakenings. Peak flow 420.",
    "Voicemail transcription: this is {relative} calling about {name}, please call me back at {spoken_phone}, thank you. Attachment: {hidden}",
    "Dictated by {doctor}, transcribed {date}. HISTORY OF PRESENT ILLNESS: {last} presents with three days of hematuria and flank pain radiating to the groin. CT shows a 6 mm ureteral stone. Tamsulosin started.",
]

JSON = [
    {"encounter": {"id": "{case}", "subject": {"display": "{name}", "birthDate": "{dob}"}, "participant": [{"role": "physician", "display": "{doctor}"}], "reason": "Chronic low back pain with radiculopathy", "bed": "{room}"}},
    {"form": {"Full name": "{name}", "Mobile phone": "{phone}", "E-mail": "{email}", "Social security number": "{ssn}", "Emergency contact": "{relative}", "Allergies": "penicillin, shellfish"}},
    {"messages": [{"role": "user", "content": "Summarize the visit of {name} on {date}: dizziness, orthostatic hypotension, stopped hydrochlorothiazide. Call {phone}."}, {"role": "assistant", "content": "{first} was seen for dizziness; the diuretic was stopped. {relative} will monitor blood pressure."}]},
]
